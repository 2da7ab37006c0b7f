//===- program.cpp - A loaded artifact --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program.h"

#include <algorithm>
#include <cstring>

namespace ltc::cpu {

namespace {

Error failed(ErrorCode code, std::string message) {
  return {code, Stage::Execute, std::move(message), "", {}, ""};
}

/// Calls `visit` with each element of "a,b,c".
template <typename Visit> void forEach(std::string_view list, Visit visit) {
  while (!list.empty()) {
    size_t comma = list.find(',');
    visit(list.substr(0, comma));
    list = comma == list.npos ? "" : list.substr(comma + 1);
  }
}

/// The first feature that code for `target` may use and `host` lacks.
std::string missingFeature(std::string_view target, std::string_view host) {
  std::vector<std::string_view> have;
  forEach(host, [&](std::string_view feature) { have.push_back(feature); });
  std::string missing;
  forEach(target, [&](std::string_view feature) {
    if (missing.empty() && feature.starts_with('+') &&
        std::find(have.begin(), have.end(), feature) == have.end())
      missing = feature.substr(1);
  });
  return missing;
}

} // namespace

Status checkTarget(std::string_view text, const Target &host) {
  if (text == host.str())
    return {};
  std::vector<std::string_view> parts;
  for (int i = 0; i < 3; ++i) {
    size_t colon = std::min(text.find(':'), text.size());
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  std::string_view triple = parts[1], cpu = parts[2], features = text;
  auto machine = [](std::string_view triple) {
    return triple.substr(0, triple.find('-'));
  };
  if (parts[0] != host.kind || machine(triple) != machine(host.triple))
    return failed(ErrorCode::Unsupported,
                  "the code is for " + std::string(parts[0]) + " " +
                      std::string(triple) + ", and this machine is " +
                      host.kind + " " + host.triple);
  bool baseline = cpu == "x86-64" || cpu == "generic";
  if (features.empty() && cpu != host.cpu && !baseline)
    return failed(ErrorCode::Unsupported, "the code is for the CPU " +
                                              std::string(cpu) +
                                              ", and this one is " + host.cpu);
  std::string missing = missingFeature(features, host.features);
  if (!missing.empty())
    return failed(ErrorCode::Unsupported, "the code needs the CPU feature " +
                                              missing +
                                              ", which this machine lacks");
  return {};
}

Result<std::unique_ptr<Program>> Program::make(Artifact artifact,
                                               std::string_view blobKind,
                                               MakeCode makeCode,
                                               const ltc_host &services) {
  if (artifact.donated.size() != artifact.results.size())
    return failed(ErrorCode::InvalidArgument,
                  "the artifact's donations do not match its results");
  Result<Calls> calls = Calls::bind(artifact.calls, services);
  if (!calls)
    return calls.takeError();
  std::unique_ptr<Program> program(new Program(std::move(*calls)));
  std::vector<std::string_view> objects, names;
  for (const Artifact::Blob &blob : artifact.blobs) {
    if (blob.kind != blobKind)
      return failed(ErrorCode::Unsupported,
                    "a CPU runs no code of kind " + blob.kind);
    objects.push_back(blob.bytes);
  }
  for (const Artifact::Kernel &kernel : artifact.kernels)
    names.push_back(kernel.name);
  auto code = makeCode(objects, names, findSymbol);
  if (!code)
    return code.takeError();
  program->code = std::move(*code);
  program->inputCount = artifact.inputs.size();
  program->types = artifact.inputs;
  for (const TensorType &type : artifact.results)
    program->types.push_back({type, false});
  program->donated = artifact.donated;
  for (const Artifact::ErrorSite &site : artifact.errorSites)
    program->siteWords.push_back(site.words);
  program->symbolCount = artifact.symbols;
  program->formulas = std::move(artifact.formulas);
  program->arena = std::move(artifact.arena);
  program->steps = std::move(artifact.steps);
  program->words = std::move(artifact.words);
  program->extents = std::move(artifact.extents);
  if (!program->hasWordsOfCalls())
    return failed(ErrorCode::InvalidArgument,
                  "a library call of the program has other operands than it "
                  "is given");
  if (!program->symbolCount && !program->evaluate({}))
    return failed(ErrorCode::InvalidArgument,
                  "a size of the program does not fit 64 bits");
  return program;
}

bool Program::hasWordsOfCalls() {
  return std::ranges::all_of(steps, [&](const ltc_step &step) {
    if (step.kind != LTC_CALL)
      return true;
    size_t count = 0;
    for (const ltc_view &view : calls[step.target].views)
      count += view.is_scalar ? 1 : 1 + 2 * size_t(view.rank);
    return count == step.words;
  });
}

bool Program::evaluate(std::span<const int64_t> values) {
  constexpr int64_t impossible = INT64_MIN;
  sizes.clear();
  for (const Formula &formula : formulas)
    sizes.push_back(formula.evaluate(values).value_or(impossible));
  bool ok = true;
  auto valueOf = [&](int64_t number) {
    if (!isSymbolic(number))
      return number;
    int64_t value = sizes[formulaNumber(number)];
    ok &= value != impossible;
    return value;
  };
  parts.clear();
  arenaBytes = 0;
  for (int64_t part : arena) {
    int64_t bytes = valueOf(part);
    parts.push_back(arenaBytes);
    ok &= bytes >= 0 &&
          !__builtin_add_overflow(arenaBytes, bytes, &arenaBytes) &&
          !__builtin_add_overflow(arenaBytes, LTC_ARENA_ALIGNMENT - 1,
                                  &arenaBytes);
    arenaBytes -= arenaBytes % LTC_ARENA_ALIGNMENT;
  }
  iterations.clear();
  for (const ltc_step &step : steps) {
    int64_t product = 1;
    for (uint32_t i = 0; i < step.extents; ++i) {
      const ltc_extent &extent = extents[step.first_extent + i];
      int64_t length = valueOf(extent.length);
      int64_t count = length / extent.step + (length % extent.step != 0);
      ok &= length >= 0 && !__builtin_mul_overflow(product, count, &product);
    }
    iterations.push_back(product);
  }
  // Bases are: nothing, operands, parts of the arena, the symbols.
  auto baseOf = [&](const ltc_word &word) -> size_t {
    switch (word.base) {
    case LTC_INPUT:
      return 1 + word.index;
    case LTC_RESULT:
      return 1 + inputCount + word.index;
    case LTC_ARENA:
      return 1 + types.size() + word.index;
    case LTC_SYMBOLS:
      return 1 + types.size() + parts.size();
    default:
      return 0;
    }
  };
  places.clear();
  for (const ltc_word &word : words)
    places.push_back({uint32_t(baseOf(word)), valueOf(word.amount)});
  return ok;
}

Status Program::choose(std::span<const int64_t> values) {
  if (values.size() != symbolCount)
    return failed(ErrorCode::InvalidArgument,
                  "the program has " + std::to_string(symbolCount) +
                      " symbols, and got the values of " +
                      std::to_string(values.size()));
  if (std::ranges::equal(values, symbols))
    return {};
  symbols.clear(); // until all is known to fit
  if (!evaluate(values))
    return failed(ErrorCode::InvalidArgument,
                  "the symbols' values give an impossible size");
  if (Status status = calls.choose(values); !status)
    return status;
  symbols.assign(values.begin(), values.end());
  return {};
}

Status Program::check(std::span<const ltc_operand> operands,
                      std::span<const OperandMemory> memory,
                      OperandMemory arena) const {
  auto wrong = [](size_t number, std::string_view why) {
    return failed(ErrorCode::InvalidArgument,
                  "operand " + std::to_string(number) + " " + std::string(why));
  };
  if (operands.size() != types.size())
    return failed(ErrorCode::InvalidArgument,
                  "the program takes " + std::to_string(types.size()) +
                      " operands, and got " + std::to_string(operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    const ValueType &type = types[i];
    if (type.isScalar)
      continue;
    if (!memory[i].data)
      return wrong(i, "has no buffer");
    if (operands[i].rank != type.tensor.dims.size() ||
        operands[i].dtype != uint8_t(type.tensor.dtype))
      return wrong(i, "has another rank or element type than the program's");
    size_t bytes = byteSize(type.tensor.dtype);
    for (uint32_t d = 0; d < operands[i].rank; ++d) {
      int64_t dim = type.tensor.dims[d];
      if (operands[i].sizes[d] !=
          (isSymbolic(dim) ? sizes[formulaNumber(dim)] : dim))
        return wrong(i, "has another shape than the program's");
      bytes *= size_t(operands[i].sizes[d]);
    }
    if (bytes > memory[i].bytes)
      return wrong(i, "has a buffer that is too small");
  }
  if (arena.bytes < size_t(arenaBytes))
    return failed(ErrorCode::InvalidArgument, "the arena is too small");
  return {};
}

void Program::doStep(Run &run, const ltc_step &step) {
  arguments.resize(std::max<size_t>(arguments.size(), step.words));
  const Place *place = places.data() + step.first_word;
  for (uint32_t i = 0; i < step.words; ++i)
    arguments[i] = bases[place[i].base] + place[i].amount;
  switch (step.kind) {
  case LTC_LAUNCH:
    return run.parallelFor(
        iterations[size_t(&step - steps.data())], step.grain,
        reinterpret_cast<KernelCode>(code->symbols[step.target]),
        arguments.data());
  case LTC_CALL:
    return run.call(step.target, arguments.data());
  case LTC_COPY:
    std::memmove(reinterpret_cast<void *>(arguments[0]),
                 reinterpret_cast<const void *>(arguments[1]),
                 size_t(arguments[2]));
  }
}

void Program::run(Run &run, std::span<const ltc_operand> operands,
                  std::span<const OperandMemory> memory, OperandMemory arena,
                  uint32_t first, uint32_t end) {
  bases.clear();
  bases.push_back(0);
  for (size_t i = 0; i < operands.size(); ++i)
    bases.push_back(types[i].isScalar
                        ? int64_t(operands[i].bits)
                        : reinterpret_cast<int64_t>(memory[i].data));
  for (int64_t part : parts)
    bases.push_back(reinterpret_cast<int64_t>(arena.data) + part);
  bases.push_back(reinterpret_cast<int64_t>(symbols.data()));

  Run *before = std::exchange(Run::current(), &run);
  end = std::min(end, uint32_t(steps.size()));
  for (uint32_t i = first; i < end && !run.hasFailed(); ++i)
    doStep(run, steps[i]);
  Run::current() = before;
}

} // namespace ltc::cpu
