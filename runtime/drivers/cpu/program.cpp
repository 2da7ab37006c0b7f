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

namespace {

ltc_view viewOf(const ValueType &type) {
  ltc_view view = {};
  view.dtype = uint8_t(type.tensor.dtype);
  view.is_scalar = type.isScalar;
  view.rank = uint32_t(type.tensor.dims.size());
  return view;
}

Result<BoundCall> bind(const Graph &call, const ltc_host &services) {
  std::string text = call.str(SourceLines::Omit);
  char message[1024] = "";
  ltc_kernel *kernel = services.kernel_resolve({text.data(), text.size()},
                                               message, sizeof(message));
  if (!kernel)
    return failed(ErrorCode::Unsupported,
                  "no kernel for " +
                      (call.nodes.empty() ? "nothing" : call.nodes[0].op) +
                      ": " + message);
  BoundCall bound{{kernel, services.kernel_free}, {}, call.inputs.size()};
  for (const ValueType &type : call.inputs)
    bound.views.push_back(viewOf(type));
  for (const GraphOutput &output : call.outputs)
    bound.views.push_back(viewOf(call.typeOf(output.value)));
  return bound;
}

} // namespace

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
  auto program = std::make_unique<Program>();
  for (const Artifact::Call &call : artifact->calls) {
    Result<BoundCall> bound = bind(call.graph, services);
    if (!bound)
      return bound.takeError();
    program->calls.push_back(std::move(*bound));
  }
  auto code = link(artifact->code, artifact->entry, findSymbol);
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
  program->arenaBytes = size_t(artifact->arenaBytes.constant());
  return program;
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
      if (!isSymbolic(type.tensor.dims[d]) &&
          type.tensor.dims[d] != operands[i].sizes[d])
        return wrong(i, "has another shape than the program's");
      bytes *= size_t(operands[i].sizes[d]);
    }
    if (bytes > memory[i].bytes)
      return wrong(i, "has a buffer that is too small");
  }
  if (arena.bytes < arenaBytes)
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
  void *context = &run;
  arguments.push_back(&context);

  Run *before = std::exchange(Run::current(), &run);
  reinterpret_cast<Entry>(code->entry)(arguments.data());
  Run::current() = before;
}

} // namespace ltc::cpu
