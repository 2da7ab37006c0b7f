//===- control_flow.cpp - Calls that run programs of their own ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "control_flow.h"

#include "error_place.h"
#include "ltc/interrupts.h"
#include "ltc/metrics.h"
#include "ltc/region_ops.h"

#include <algorithm>
#include <cstring>

namespace ltc::cpu {

namespace {

Error failure(ErrorCode code, std::string message) {
  return {code, Stage::Execute, std::move(message), "", {}, ""};
}

constexpr size_t kLine = 64;

size_t rounded(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

bool isBool(const TensorType &type) {
  return type.dtype == DType::Bool && type.elements() == 1;
}

} // namespace

bool ControlFlow::View::isDense() const {
  int64_t step = 1;
  for (size_t dim = type.tensor.dims.size(); dim-- > 0;
       step *= type.tensor.dims[dim])
    if (type.tensor.dims[dim] != 1 && strides[dim] != step)
      return bytes == 0;
  return true;
}

void ControlFlow::View::copy(void *dense, bool isTo) const {
  const std::vector<int64_t> &dims = type.tensor.dims;
  size_t element = byteSize(type.tensor.dtype);
  auto *packed = static_cast<char *>(dense);
  auto *spread = static_cast<char *>(data);
  if (isDense()) {
    if (bytes && packed != spread)
      std::memmove(isTo ? packed : spread, isTo ? spread : packed, bytes);
    return;
  }
  std::vector<int64_t> index(dims.size());
  for (size_t done = 0; done < bytes; done += element) {
    int64_t offset = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim)
      offset += index[dim] * strides[dim];
    char *at = spread + offset * int64_t(element);
    std::memcpy(isTo ? packed + done : at, isTo ? at : packed + done, element);
    for (size_t dim = dims.size(); dim-- > 0;) {
      if (++index[dim] < dims[dim])
        break;
      index[dim] = 0;
    }
  }
}

ControlFlow::ControlFlow(const Graph &call, const ltc_host &services)
    : services(services), call(call), isLoop(ltc::isLoop(call.nodes[0])) {}

void ControlFlow::setViews(const Graph &fixed) {
  auto viewOf = [](const ValueType &type) {
    return View{type, type.isScalar ? 0 : size_t(type.tensor.bytes())};
  };
  views.clear();
  for (const ValueType &type : fixed.inputs)
    views.push_back(viewOf(type));
  if (!isLoop && !views.empty()) {
    predicate = views.front();
    views.erase(views.begin());
  }
  if (isSeeded(fixed.nodes[0]) && !views.empty()) {
    seed = views.back();
    views.pop_back();
  }
  operands = views.size();
  for (const GraphOutput &output : fixed.outputs)
    views.push_back(viewOf(fixed.typeOf(output.value)));
  inputs.resize(operands);
  results.resize(views.size() - operands);
  others.resize(isLoop ? results.size() : 0);
}

Status ControlFlow::Region::choose(std::span<const int64_t> symbols) {
  if (described.symbols == 0)
    symbols = {};
  if (Status status = program->choose(symbols); !status)
    return status;
  bool isPossible = true;
  auto typeOf = [&](TensorType type) {
    for (int64_t &dim : type.dims)
      if (isSymbolic(dim))
        dim = described.formulas[formulaNumber(dim)].evaluate(symbols).value_or(
            -1);
    isPossible &= std::ranges::all_of(
        type.dims, [](int64_t dim) { return dim >= 0 && !isSymbolic(dim); });
    return type;
  };
  inputs.clear();
  results.clear();
  for (const ValueType &input : described.inputs)
    inputs.push_back({typeOf(input.tensor), input.isScalar});
  for (const TensorType &result : described.results)
    results.push_back(typeOf(result));
  std::optional<int64_t> bytes = described.arenaBytes(symbols);
  if (!isPossible || !bytes)
    return failure(ErrorCode::InvalidArgument,
                   "a size of control flow does not fit 64 bits");
  arenaBytes = size_t(*bytes);
  return {};
}

Status ControlFlow::choose(std::span<const int64_t> symbols) {
  if (!call.isDynamic())
    symbols = {};
  if (chosen && std::ranges::equal(symbols, *chosen))
    return {};
  chosen.reset();
  Result<Graph> fixed = call.instantiate(symbols);
  if (!fixed)
    return fixed.takeError();
  setViews(*fixed);
  for (Region &region : regions) {
    if (Status status = region.choose(symbols); !status)
      return status;
    size_t taken = region.inputs.size();
    region.draws = taken > operands ? taken - operands : 0;
  }
  if (!fits())
    return failure(ErrorCode::InvalidArgument,
                   "a program takes or gives other types than " +
                       call.nodes[0].op + " that runs it");
  chosen.emplace(symbols.begin(), symbols.end());
  return {};
}

Status ControlFlow::load(Region &region, std::string_view text,
                         const Artifact &artifact, std::string_view blobKind,
                         MakeCode makeCode) {
  const std::string name = regionName(text);
  auto kernel = std::ranges::find_if(
      artifact.kernels, [&](const Artifact::Kernel &kernel) {
        return kernel.kind == kRegionKernel && kernel.name == name;
      });
  if (kernel == artifact.kernels.end())
    return failure(ErrorCode::InvalidArgument,
                   "the program lacks one that it runs");
  Result<Artifact> read =
      Artifact::deserialize(artifact.blobs[kernel->blob].bytes);
  if (!read)
    return read.takeError();
  region.described = *read;
  region.described.blobs.clear();
  auto program = Program::make(std::move(*read), blobKind, makeCode, services);
  if (!program)
    return program.takeError();
  region.program = std::move(*program);
  return {};
}

Result<std::unique_ptr<ControlFlow>>
ControlFlow::make(const Graph &call, const Artifact &artifact,
                  std::string_view blobKind, MakeCode makeCode,
                  const ltc_host &services) {
  std::unique_ptr<ControlFlow> flow(new ControlFlow(call, services));
  auto texts = regionsOf(call.nodes[0]);
  for (size_t i = 0; i < texts.size(); ++i)
    if (Status status = flow->load(flow->regions[i], texts[i], artifact,
                                   blobKind, makeCode);
        !status)
      return status.takeError();
  if (Status status = flow->choose(call.symbols); !status)
    return status.takeError();
  return flow;
}

bool ControlFlow::takes(const Region &region) const {
  std::span<const ValueType> inputs = region.inputs;
  if (inputs.size() != operands + region.draws || (region.draws && !seed))
    return false;
  auto draws = inputs.subspan(operands);
  return std::ranges::equal(inputs.first(operands),
                            std::span(views).first(operands), {}, {},
                            &View::type) &&
         std::ranges::all_of(draws, [](const ValueType &type) {
           return type == ValueType::scalar(DType::I64);
         });
}

bool ControlFlow::fits() const {
  std::span<const View> all = views;
  auto taken = all.first(operands), given = all.subspan(operands);
  auto gives = [&](const Region &region) {
    return std::ranges::equal(
        region.results, given, {}, {},
        [](const View &view) { return view.type.tensor; });
  };
  auto donates = [](const Region &region) {
    return std::ranges::any_of(region.described.donated,
                               [](auto &input) { return input.has_value(); });
  };
  const auto &[first, second] = regions;
  if (!takes(first) || !takes(second) || !gives(second) ||
      (seed && seed->type != ValueType::scalar(DType::I64)))
    return false;
  if (!isLoop)
    return predicate && !predicate->type.isScalar &&
           isBool(predicate->type.tensor) && gives(first) && !donates(first) &&
           !donates(second);
  if (given.size() > taken.size() || first.results.size() != 1 ||
      !isBool(first.results[0]) || donates(first))
    return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (taken[i].type != given[i].type ||
        (second.described.donated[i] && *second.described.donated[i] != i))
      return false;
  return true;
}

bool ControlFlow::place(const int64_t *words) {
  auto read = [&](View &view) {
    if (view.type.isScalar) {
      view.bits = uint64_t(*words++);
      return;
    }
    size_t rank = view.type.tensor.dims.size();
    view.data = reinterpret_cast<void *>(*words);
    view.strides = words + 1 + rank;
    words += 1 + 2 * rank;
  };
  if (predicate)
    read(*predicate);
  std::ranges::for_each(std::span(views).first(operands), read);
  if (seed) {
    read(*seed);
    seeds = seed->bits;
  }
  std::ranges::for_each(std::span(views).subspan(operands), read);
  auto isInPlace = [](const View &view) {
    return view.type.isScalar || (view.data && view.isDense());
  };
  size_t wanted = 0;
  auto want = [&](const View &view) { wanted += rounded(view.bytes); };
  for (const View &view : views)
    if (!isInPlace(view))
      want(view);
  for (size_t i = 0; isLoop && i < results.size(); ++i)
    if (!regions[1].described.donated[i])
      want(views[operands + i]);
  char *next = memory.atLeast(wanted);
  if (!next)
    return false;
  auto take = [&](const View &view) {
    return std::exchange(next, next + rounded(view.bytes));
  };
  for (size_t i = 0; i < views.size(); ++i) {
    const View &view = views[i];
    void *dense = isInPlace(view) ? view.data : take(view);
    if (i >= operands) {
      results[i - operands] = dense;
      continue;
    }
    inputs[i] = {dense, view.bits};
    if (dense != view.data)
      view.copyTo(dense);
  }
  for (size_t i = 0; isLoop && i < results.size(); ++i)
    others[i] = regions[1].described.donated[i] ? results[i]
                                                : take(views[operands + i]);
  return true;
}

std::optional<size_t> ControlFlow::nodeOf(size_t region, int64_t error) const {
  runtime::ErrorPlace place =
      runtime::errorPlace(regions[region].described, error);
  if (place.node == Artifact::kNoNode)
    return std::nullopt;
  size_t before = 0;
  for (size_t i = 0; i <= region; ++i) {
    Result<Graph> graph = Graph::parse(regions[i].described.graphText);
    if (!graph)
      return std::nullopt;
    before += i < region ? countNodes(*graph) : placeOf(*graph, place.node);
  }
  return before + (place.inner ? 1 + *place.inner : 0);
}

Status ControlFlow::run(size_t number, std::span<void *const> made) {
  Region &region = regions[number];
  const Artifact &described = region.described;
  const size_t taken = described.inputs.size();
  std::vector<ltc_operand> all(taken + made.size());
  std::vector<OperandMemory> places(all.size());
  for (size_t i = 0; i < operands; ++i) {
    all[i].bits = inputs[i].bits;
    places[i].data = inputs[i].data;
  }
  for (size_t i = operands; i < taken; ++i)
    all[i].bits = nextSeed(seeds);
  for (size_t i = 0; i < made.size(); ++i) {
    std::optional<uint32_t> donated = described.donated[i];
    places[taken + i].data = donated ? inputs[*donated].data : made[i];
  }
  const size_t bytes = region.arenaBytes;
  OperandMemory scratch{region.arena.atLeast(bytes), bytes};
  if (!scratch.data)
    return failure(ErrorCode::OutOfMemory, "no memory for " +
                                               std::to_string(bytes) +
                                               " bytes of values in between");
  Run run(services, region.program->calls, region.program->steps);
  region.program->run(run, all, places, scratch);
  if (run.code == LTC_OK)
    return {};
  failed = nodeOf(number, run.site);
  return failure(ErrorCode(run.code - 1), run.message);
}

Status ControlFlow::runBranch() {
  bool isThen = *static_cast<const bool *>(predicate->data);
  return run(isThen ? 0 : 1, results);
}

Status ControlFlow::runLoop() {
  constexpr size_t condition = 0, body = 1;
  for (size_t i = 0; i < results.size(); ++i) {
    if (size_t bytes = views[operands + i].bytes)
      std::memcpy(results[i], inputs[i].data, bytes);
    inputs[i].data = results[i];
  }
  alignas(kLine) bool goesOn = false;
  void *const decision[] = {&goesOn};
  static Counter &allTurns = counter("execute.turns");
  InterruptWatch watch;
  while (true) {
    if (Status status = run(condition, decision); !status)
      return status;
    if (!goesOn)
      break;
    if (Status status = run(body, others); !status)
      return status;
    allTurns.add();
    for (size_t i = 0; i < others.size(); ++i)
      std::swap(others[i], inputs[i].data);
    if (watch.isOver())
      return failure(ErrorCode::Interrupted,
                     "the loop was running when the program was interrupted, "
                     "and has ended");
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (size_t bytes = views[operands + i].bytes;
        bytes && inputs[i].data != results[i])
      std::memcpy(results[i], inputs[i].data, bytes);
  return {};
}

Status ControlFlow::run(const int64_t *words) {
  failed = std::nullopt;
  if (!place(words))
    return failure(ErrorCode::OutOfMemory,
                   "no memory for what control flow carries");
  if (Status status = isLoop ? runLoop() : runBranch(); !status)
    return status;
  for (size_t i = 0; i < results.size(); ++i)
    if (const View &view = views[operands + i]; results[i] != view.data)
      view.copyFrom(results[i]);
  return {};
}

} // namespace ltc::cpu
