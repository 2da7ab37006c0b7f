//===- program.cpp - A loaded artifact --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program.h"

#include "control_flow.h"
#include "error_place.h"
#include "ltc/region_ops.h"

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

Program::Program(Calls calls, Steps steps)
    : calls(std::move(calls)), steps(std::move(steps)) {}

Program::~Program() = default;

Result<std::vector<Program::Flow>> Program::flowsOf(const Artifact &artifact,
                                                    std::string_view blobKind,
                                                    MakeCode makeCode,
                                                    const ltc_host &services) {
  std::vector<Flow> flows(artifact.calls.size());
  for (size_t i = 0; i < flows.size(); ++i) {
    const Graph &call = artifact.calls[i].graph;
    if (!hasRegions(call))
      continue;
    auto flow = ControlFlow::make(call, artifact, blobKind, makeCode, services);
    if (!flow)
      return flow.takeError();
    flows[i] = {std::move(*flow), runtime::errorNumber(artifact, i, 0)};
  }
  return flows;
}

Result<std::unique_ptr<Program>> Program::make(Artifact artifact,
                                               std::string_view blobKind,
                                               MakeCode makeCode,
                                               const ltc_host &services) {
  Result<Calls> calls = Calls::bind(artifact.calls, {services});
  if (!calls)
    return calls.takeError();
  std::vector<std::string_view> objects, names;
  for (const Artifact::Blob &blob : artifact.blobs) {
    if (blob.kind == kRegionBlob)
      continue;
    if (blob.kind != blobKind)
      return failed(ErrorCode::Unsupported,
                    "a CPU runs no code of kind " + blob.kind);
    objects.push_back(blob.bytes);
  }
  // Regions stand behind the kernels that are launched.
  for (const Artifact::Kernel &kernel : artifact.kernels)
    if (kernel.kind != kRegionKernel)
      names.push_back(kernel.name);
  auto code = makeCode(objects, names, findSymbol);
  if (!code)
    return code.takeError();
  auto flows = flowsOf(artifact, blobKind, makeCode, services);
  if (!flows)
    return flows.takeError();
  Result<Steps> steps = Steps::take(artifact);
  if (!steps)
    return steps.takeError();
  std::unique_ptr<Program> program(
      new Program(std::move(*calls), std::move(*steps)));
  program->code = std::move(*code);
  program->flows = std::move(*flows);
  if (!program->hasWordsOfCalls())
    return failed(ErrorCode::InvalidArgument,
                  "a library call of the program has other operands than it "
                  "is given");
  for (size_t i = 0; i < program->steps.size(); ++i)
    if (const ltc_step &step = program->steps[i];
        step.kind == LTC_LAUNCH && step.target >= names.size())
      return failed(ErrorCode::InvalidArgument,
                    "the program launches what is no kernel");
  return program;
}

bool Program::hasWordsOfCalls() {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind != LTC_CALL)
      continue;
    size_t count = 0;
    for (const ltc_view &view : calls[steps[i].target].views)
      count += view.is_scalar ? 1 : 1 + 2 * size_t(view.rank);
    if (count != steps[i].words)
      return false;
  }
  return true;
}

Status Program::choose(std::span<const int64_t> values) {
  if (Status status = steps.choose(values); !status)
    return status;
  for (const Flow &flow : flows)
    if (flow.run)
      if (Status status = flow.run->choose(values); !status)
        return status;
  return calls.choose(values);
}

void Program::call(Run &run, uint32_t number, int64_t *words) {
  const auto &[flow, firstNode] = flows[number];
  if (!flow) [[likely]]
    return run.call(number, words);
  if (Status status = flow->run(words); !status) {
    std::optional<size_t> node = flow->failedNode();
    run.fail(ltc_error_code(int(status.error().code) + 1),
             status.error().message,
             node ? firstNode + int64_t(*node) : steps.sites() + number);
  }
}

void Program::doStep(Run &run, size_t number) {
  const ltc_step &step = steps[number];
  int64_t *arguments = steps.arguments(number).data();
  switch (step.kind) {
  case LTC_LAUNCH:
    return run.parallelFor(
        steps.iterations(number), step.grain,
        reinterpret_cast<KernelCode>(code->symbols[step.target]), arguments);
  case LTC_CALL:
    return call(run, step.target, arguments);
  case LTC_COPY:
    std::memmove(reinterpret_cast<void *>(arguments[0]),
                 reinterpret_cast<const void *>(arguments[1]),
                 size_t(arguments[2]));
    return;
  default: // its reader lets no other through
    return;
  }
}

void Program::run(Run &run, std::span<const ltc_operand> operands,
                  std::span<const OperandMemory> memory, OperandMemory arena,
                  uint32_t first, uint32_t end) {
  steps.place(operands, memory, arena, steps.chosen().data());
  Run *before = std::exchange(Run::current(), &run);
  end = std::min(end, uint32_t(steps.size()));
  for (uint32_t i = first; i < end && !run.hasFailed(); ++i)
    doStep(run, i);
  Run::current() = before;
}

} // namespace ltc::cpu
