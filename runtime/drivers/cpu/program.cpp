//===- program.cpp - A loaded artifact --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program.h"

#include <algorithm>

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

Result<std::unique_ptr<Program>> Program::load(std::string_view bytes,
                                               const Target &host,
                                               const ltc_host &services) {
  Result<Artifact> artifact = Artifact::deserialize(bytes);
  if (!artifact)
    return artifact.takeError();
  if (Status status = checkTarget(artifact->target, host); !status)
    return status.takeError();
  if (artifact->donated.size() != artifact->results.size())
    return failed(ErrorCode::InvalidArgument,
                  "the artifact's donations do not match its results");
  Result<Calls> calls = Calls::bind(artifact->calls, services);
  if (!calls)
    return calls.takeError();
  std::unique_ptr<Program> program(new Program(std::move(*calls)));
  auto code = link(artifact->objects, artifact->entry, findSymbol);
  if (!code)
    return code.takeError();
  program->code = std::move(*code);
  program->inputCount = artifact->inputs.size();
  program->types = artifact->inputs;
  for (const TensorType &type : artifact->results)
    program->types.push_back({type, false});
  program->donated = artifact->donated;
  for (const Artifact::ErrorSite &site : artifact->errorSites)
    program->siteWords.push_back(site.words);
  program->formulas = std::move(artifact->formulas);
  program->arenaFormula = std::move(artifact->arenaBytes);
  program->symbolCount = artifact->symbols;
  if (!program->symbolCount)
    program->arenaBytes = program->arenaFormula.constant();
  return program;
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
  sizes.clear();
  for (const Formula &formula : formulas)
    sizes.push_back(formula.evaluate(values).value_or(-1));
  arenaBytes = arenaFormula.evaluate(values).value_or(-1);
  if (arenaBytes < 0)
    return failed(ErrorCode::InvalidArgument,
                  "the symbols' values give an impossible arena");
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

/// Appends a memref descriptor: allocated, aligned, offset, sizes, strides.
void Program::describe(const ltc_operand &operand, void *data) {
  arguments.push_back(descriptors.data() + descriptors.size());
  auto address = reinterpret_cast<int64_t>(data);
  descriptors.insert(descriptors.end(), {address, address, 0});
  descriptors.insert(descriptors.end(), operand.sizes,
                     operand.sizes + operand.rank);
  size_t strides = descriptors.size();
  descriptors.resize(strides + operand.rank);
  int64_t stride = 1;
  for (uint32_t d = operand.rank; d-- > 0;) {
    descriptors[strides + d] = stride;
    stride *= operand.sizes[d];
  }
}

void Program::run(Run &run, std::span<const ltc_operand> operands,
                  std::span<const OperandMemory> memory, OperandMemory arena) {
  size_t words = 5; // the arena's
  for (const ltc_operand &operand : operands)
    words += 3 + 2 * operand.rank;
  descriptors.clear();
  descriptors.reserve(words); // the arguments point into it
  arguments.clear();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (types[i].isScalar)
      arguments.push_back(const_cast<uint64_t *>(&operands[i].bits));
    else if (i < inputCount || !donated[i - inputCount])
      describe(operands[i], memory[i].data);
  }
  auto arenaSize = int64_t(arena.bytes);
  describe({nullptr, &arenaSize, 1, uint8_t(DType::I8), 0}, arena.data);
  if (symbolCount)
    arguments.push_back(symbols.data());
  void *context = &run;
  arguments.push_back(&context);

  Run *before = std::exchange(Run::current(), &run);
  reinterpret_cast<Entry>(code->entry)(arguments.data());
  Run::current() = before;
}

} // namespace ltc::cpu
