//===- built/open_call.cpp - Calls for sizes that vary --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/built/open_call.h"

#include "ltc/ahead.h"
#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/resize.h"
#include "ltc_backend/lazy_device.h"

#include <bit>
#include <cmath>

namespace ltc::backend {

namespace {

/// Adds a number of Python's: an integer may vary, anything else is structure.
template <typename Visitor>
void walkNumber(c10::IValue &number, Visitor &visitor) {
  if (number.isInt()) {
    int64_t value = number.toInt();
    visitor.integer(value);
    number = value;
  } else if (number.isDouble()) {
    visitor.structure(std::bit_cast<uint64_t>(number.toDouble()));
  } else {
    visitor.structure(number.isNone() ? 2 : uint64_t(number.toBool()));
  }
}

template <typename Visitor>
void walkSizes(std::vector<int64_t> &sizes, Visitor &visitor) {
  visitor.structure(sizes.size());
  for (int64_t &size : sizes)
    visitor.integer(size);
}

/// A number that a launch is given. Those of floating point may be sizes, too:
/// what a mean divides by.
template <typename Visitor>
void walkScalar(LaunchArgument &scalar, DType type, Visitor &visitor) {
  constexpr double most = 0x1p53; // to here every integer is a double
  if (type != DType::F64)
    return visitor.integer(scalar.integer);
  double real = scalar.real;
  bool isWhole = std::abs(real) < most && std::trunc(real) == real &&
                 !(real == 0 && std::signbit(real));
  visitor.structure(isWhole);
  if (!isWhole)
    return visitor.structure(std::bit_cast<uint64_t>(real));
  auto whole = int64_t(real);
  visitor.integer(whole);
  scalar.real = double(whole);
}

/// Reads a program: what may vary, and all the rest.
struct Reader {
  void structure(uint64_t word) { rest.add(word); }
  void constant(const DeviceData &data) {
    const TensorType &type = data.buffer()->type();
    const void *memory =
        data.buffer()->wait() ? data.buffer()->hostPointer() : nullptr;
    rest.add(std::string_view(type.str()));
    if (memory)
      rest.add({static_cast<const char *>(memory), type.bytes()});
    else if (type.bytes())
      rest.add(data.made); // unlike any other
  }
  void integer(int64_t &value) { integers.push_back(value); }

  Hasher rest;
  std::vector<int64_t> integers;
};

/// Writes a program's integers for certain sizes.
struct Writer {
  void structure(uint64_t) {}
  void constant(const DeviceData &) {}
  void integer(int64_t &value) {
    const Formula &formula = formulas[next++];
    if (formula.isConstant())
      return;
    std::optional<int64_t> size = formula.evaluate(symbols);
    value = size.value_or(-1);
    isRight &= size.has_value();
  }

  std::span<const Formula> formulas;
  std::span<const int64_t> symbols;
  size_t next = 0;
  bool isRight = true;
};

} // namespace

/// Hands every integer of a program to a visitor, in one order, and what is not
/// a matter of sizes. The graph itself is left to ahead::open().
class OpenCall::Walk {
public:
  /// `built` is the program's graph, or a copy.
  static void run(HostProgram &program, BuiltGraph &built, auto &visitor) {
    for (HostArgument &argument : program.arguments)
      walk(argument, visitor);
    for (HostResult &result : program.results)
      walk(result, visitor);
    walk(built, visitor);
  }

private:
  static void walk(HostArgument &argument, auto &visitor) {
    visitor.structure(argument.isTensor);
    visitor.structure(uint64_t(argument.type));
    visitor.structure(argument.input ? *argument.input + 1 : 0);
    visitor.structure(argument.isCopied);
    walkSizes(argument.sizes, visitor);
    walkSizes(argument.strides, visitor);
    walkNumber(argument.number, visitor);
  }
  static void walk(HostResult &result, auto &visitor) {
    visitor.structure(result.kind);
    visitor.structure(result.index);
    walkSizes(result.sizes, visitor);
    walkSizes(result.strides, visitor);
    visitor.integer(result.offset);
    walkNumber(result.number, visitor);
  }
  static void walk(BuiltGraph::Source &source, DType type, auto &visitor) {
    using Source = BuiltGraph::Source;
    visitor.structure(source.kind);
    visitor.structure(source.input);
    if (source.kind == Source::Constant)
      visitor.constant(*source.constant);
    if (source.kind == Source::Scalar)
      walkScalar(source.scalar, type, visitor);
  }
  static void walk(BuiltGraph::Output &output, auto &visitor) {
    visitor.structure(output.result ? *output.result + 1 : 0);
    if (!output.result)
      walk(output.source, DType::Bool, visitor);
    at::ScalarType type = output.shape.scalar_type();
    visitor.structure(uint64_t(type));
    std::vector<int64_t> sizes = output.shape.sizes().vec();
    walkSizes(sizes, visitor);
    output.shape = torch::lazy::Shape(type, sizes);
  }
  static void walk(BuiltGraph &built, auto &visitor) {
    for (TensorType &type : built.inputTypes) {
      visitor.structure(uint64_t(type.dtype));
      walkSizes(type.dims, visitor);
    }
    for (size_t i = 0; i < built.sources.size(); ++i)
      walk(built.sources[i], built.graph->inputs[i].tensor.dtype, visitor);
    for (BuiltGraph::Output &output : built.outputs)
      walk(output, visitor);
    for (BuiltGraph::Write &write : built.writes) {
      visitor.structure(write.input);
      walk(write.value, visitor);
    }
  }
};

static std::nullptr_t refuse(const Graph &graph, const std::string &why) {
  log(LogLevel::Info, Stage::Cache,
      "a program of " + std::to_string(graph.nodes.size()) +
          " ops is built for each set of sizes: " + why);
  return nullptr;
}

std::shared_ptr<const OpenCall>
OpenCall::make(const std::vector<Trace> &given) {
  const HostProgram &example = given.at(0).program;
  const Graph &first = *example.graph->graph;
  std::vector<ahead::Trace> traces;
  std::optional<Hash128> structure;
  for (const auto &[program, derived] : given) {
    HostProgram copy = program;
    BuiltGraph built = *program.graph;
    Reader reader;
    reader.integers = derived;
    Walk::run(copy, built, reader);
    Hash128 own = reader.rest.finish();
    if (own != structure.value_or(own))
      return refuse(first, "its arguments or results are laid in another way");
    structure = own;
    traces.push_back({*built.graph, std::move(reader.integers)});
  }
  if (first.outputs.empty())
    return nullptr;
  Result<ahead::OpenProgram> open = ahead::open(traces);
  if (!open)
    return refuse(first, open.error().str());
  if (!open->graph.isDynamic())
    return nullptr;
  auto built = std::make_shared<BuiltGraph>(*example.graph);
  Result<ExecutablePtr> executable = engine(built->device).compile(open->graph);
  if (!executable)
    return refuse(first, executable.error().str());
  built->key = open->graph.hash();
  built->symbols = open->graph.symbols;
  built->executable = std::move(*executable);
  built->findWritesInPlace();
  built->graph = std::make_shared<Graph>(std::move(open->graph));
  std::shared_ptr<OpenCall> call(
      new OpenCall({std::move(built), example.arguments, example.results},
                   given[0].derived.size(), std::move(open->integers)));
  if (!call->findSymbols())
    return refuse(first, "a size that varies follows from no argument's");
  return call;
}

bool OpenCall::findSymbols() {
  const size_t symbols = program.graph->symbols.size();
  std::vector<std::optional<Place>> found(symbols);
  size_t next = 0;
  auto look = [&](Place place) {
    const Formula &formula = formulas[next++];
    for (uint32_t i = 0; i < symbols; ++i)
      if (formula == Formula::symbol(i))
        found[i] = place;
  };
  for (size_t i = 0; i < derivedCount; ++i)
    look({Place::kDerived, i});
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    const HostArgument &argument = program.arguments[i];
    for (size_t d = 0; d < argument.sizes.size(); ++d)
      look({i, d});
    next += argument.strides.size();
    if (argument.number.isInt())
      look({i, 0});
  }
  for (const std::optional<Place> &place : found) {
    if (!place)
      return false;
    symbolAt.push_back(*place);
  }
  return true;
}

std::optional<std::vector<int64_t>>
OpenCall::symbolsIn(c10::ArrayRef<c10::IValue> arguments,
                    std::span<const int64_t> derived) const {
  if (arguments.size() != program.arguments.size() ||
      derived.size() != derivedCount)
    return std::nullopt;
  std::vector<int64_t> symbols;
  for (const Place &place : symbolAt) {
    if (place.argument == Place::kDerived) {
      symbols.push_back(derived[place.number]);
      continue;
    }
    const c10::IValue &argument = arguments[place.argument];
    if (argument.isInt() && !program.arguments[place.argument].isTensor)
      symbols.push_back(argument.toInt());
    else if (argument.isTensor() &&
             size_t(argument.toTensor().dim()) > place.number)
      symbols.push_back(argument.toTensor().size(int64_t(place.number)));
    else
      return std::nullopt;
  }
  for (size_t i = 0; i < derivedCount; ++i)
    if (formulas[i].evaluate(symbols) != derived[i])
      return std::nullopt;
  // 0 and 1 mean other graphs: of an empty dimension, or a broadcast one.
  for (const Formula &formula : program.graph->graph->formulas)
    if (formula.evaluate(symbols).value_or(0) < 2)
      return std::nullopt;
  return symbols;
}

std::shared_ptr<const CompiledCall>
OpenCall::at(c10::ArrayRef<c10::IValue> arguments,
             std::span<const int64_t> derived) const {
  static Counter &hits = counter("cache.dynamic_hits");
  std::optional<std::vector<int64_t>> symbols = symbolsIn(arguments, derived);
  if (!symbols)
    return nullptr;
  HostProgram sized = program;
  auto built = std::make_shared<BuiltGraph>(*program.graph);
  Writer writer{std::span(formulas).subspan(derivedCount), *symbols};
  Walk::run(sized, *built, writer);
  Hasher hasher(built->key);
  for (int64_t symbol : *symbols)
    hasher.add(uint64_t(symbol));
  built->key = hasher.finish();
  Result<ExecutablePtr> executable =
      resize(built->executable, *symbols, built->key);
  if (!writer.isRight || !executable)
    return nullptr;
  built->symbols = std::move(*symbols);
  built->executable = std::move(*executable);
  sized.graph = std::move(built);
  auto call = std::make_shared<CompiledCall>(std::move(sized));
  if (!call->fits(arguments))
    return nullptr;
  hits.add();
  return call;
}

} // namespace ltc::backend
