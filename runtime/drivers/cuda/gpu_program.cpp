//===- gpu_program.cpp - A loaded program of a GPU ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "gpu_program.h"

#include <algorithm>
#include <climits>

namespace ltc::cuda {

namespace {

Outcome invalid(const Error &error) {
  return Fault{LTC_INVALID_ARGUMENT, error.message};
}

/// Whether a kernel of this PTX calls one that reports a failed check. Other
/// code is not read, and may.
bool mayReport(const Artifact::Blob &blob, const std::string &kernel) {
  if (blob.kind != "ptx")
    return true;
  std::string_view text = blob.bytes;
  size_t begin = text.find(".entry " + kernel + "(");
  if (begin == text.npos)
    return true;
  text = text.substr(begin, text.find("\n}\n", begin) - begin);
  return text.find("ltc_index_error") != text.npos ||
         text.find("ltc_value_error") != text.npos;
}

} // namespace

Outcome GpuProgram::load(Gpu &gpu, Artifact artifact,
                         std::unique_ptr<GpuProgram> &program) {
  if (Outcome outcome = gpu.checkTarget(artifact.target))
    return outcome;
  auto sites = int64_t(artifact.errorSites.size());
  Result<GpuCalls> calls = GpuCalls::bind(gpu, artifact.calls, sites);
  if (!calls)
    return invalid(calls.error());
  Result<Steps> steps = Steps::take(artifact);
  if (!steps)
    return invalid(steps.error());
  std::unique_ptr<GpuProgram> made(
      new GpuProgram(gpu, std::move(*steps), std::move(*calls)));
  Entered entered(gpu.context);
  if (Outcome outcome = made->loadModules(artifact))
    return outcome;
  if (Outcome outcome = made->findKernels(artifact))
    return outcome;
  if (Outcome outcome = made->makeSymbols())
    return outcome;
  if (made->hasCopies())
    if (Outcome outcome = gpu.loadCopyKernels())
      return outcome;
  made->findReads();
  program = std::move(made);
  return std::nullopt;
}

GpuProgram::~GpuProgram() {
  Entered entered(gpu.context);
  checks.reset();
  graphs.clear();
  for (const Module &module : modules)
    api().cuModuleUnload(module.handle);
  if (symbols.data)
    gpu.memory->free(symbols);
  if (isDone)
    api().cuEventDestroy(isDone);
}

Outcome GpuProgram::loadModules(const Artifact &artifact) {
  for (const Artifact::Blob &blob : artifact.blobs) {
    if (blob.kind != "ptx" && blob.kind != "cubin")
      return Fault{LTC_UNSUPPORTED,
                   "a GPU of NVIDIA's runs no code of kind " + blob.kind};
    char log[2048] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
    // As a std::string it ends with a NUL, which the driver looks for.
    Module module;
    CUresult result = api().cuModuleLoadDataEx(
        &module.handle, blob.bytes.c_str(), 2, options, values);
    if (Outcome outcome = outcomeOf(result, "load the code of a program")) {
      outcome->code = LTC_DEVICE_FAILED;
      if (*log)
        outcome->message += ": " + std::string(log);
      return outcome;
    }
    module.hasReport = checks->addModule(module.handle);
    modules.push_back(module);
  }
  return std::nullopt;
}

Outcome GpuProgram::findKernels(const Artifact &artifact) {
  for (const Artifact::Kernel &kernel : artifact.kernels) {
    Kernel found{nullptr, kernel.threads};
    const Module &module = modules[kernel.blob];
    std::string what = "find the kernel " + kernel.name;
    if (Outcome outcome =
            outcomeOf(api().cuModuleGetFunction(&found.function, module.handle,
                                                kernel.name.c_str()),
                      what.c_str()))
      return outcome;
    found.checks =
        module.hasReport && mayReport(artifact.blobs[kernel.blob], kernel.name);
    kernels.push_back(found);
  }
  return std::nullopt;
}

bool GpuProgram::hasCopies() const {
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].kind == LTC_COPY)
      return true;
  return false;
}

void GpuProgram::findReads() {
  readBehind.resize(steps.size());
  bool isNeeded = false;
  for (size_t i = steps.size(); i-- > 0;) {
    if (steps[i].kind == LTC_LAUNCH && kernels[steps[i].target].checks)
      readBehind[i] = std::exchange(isNeeded, false);
    isNeeded |= steps[i].writes_donated != 0;
  }
}

Outcome GpuProgram::makeSymbols() {
  if (!steps.readSymbols())
    return std::nullopt;
  size_t bytes = steps.symbolCount() * sizeof(int64_t);
  symbols = gpu.memory->allocate(bytes);
  if (!symbols.data)
    return gpu.outOfMemory(bytes);
  return outcomeOf(api().cuEventCreate(&isDone, CU_EVENT_DISABLE_TIMING),
                   "make an event");
}

Outcome GpuProgram::prepare(const ltc_launch &launch,
                            std::span<const OperandMemory> memory,
                            OperandMemory arena) {
  std::span<const ltc_operand> operands(launch.operands, launch.operand_count);
  if (Status status = steps.choose({launch.symbols, launch.symbol_count});
      !status)
    return invalid(status.error());
  if (Status status = calls.choose(steps.chosen()); !status)
    return invalid(status.error());
  if (Status status = steps.check(operands, memory, arena); !status)
    return invalid(status.error());
  steps.place(operands, memory, arena, symbols.data);
  return std::nullopt;
}

Outcome GpuProgram::run(CUstream stream, uint32_t first, uint32_t end,
                        const std::function<Outcome()> &settleEarlier,
                        ReadingPtr &reading) {
  Entered entered(gpu.context);
  end = std::min(end, uint32_t(steps.size()));
  Queueing run{stream, settleEarlier, reading, false, false, first};
  if (Outcome outcome = checks->begin(stream))
    return outcome;
  if (!symbols.data)
    return queueSteps(run, end);
  CUresult result = CUDA_SUCCESS;
  if (lastStream && lastStream != stream)
    result = api().cuStreamWaitEvent(stream, isDone, 0);
  std::span<const int64_t> values = steps.chosen();
  // Of memory that is not pinned it takes a copy before it returns.
  if (result == CUDA_SUCCESS)
    result =
        api().cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(symbols.data),
                                values.data(), values.size_bytes(), stream);
  if (Outcome outcome = outcomeOf(result, "be told a program's sizes"))
    return outcome;
  Outcome outcome = queueSteps(run, end);
  lastStream = stream;
  result = api().cuEventRecord(isDone, stream);
  return outcome ? outcome : outcomeOf(result, "record an event");
}

Outcome GpuProgram::settle(Queueing &run) {
  if (run.hasUnreadCheck)
    if (Outcome outcome = checks->queueRead(run.stream, run.unread))
      return outcome;
  run.hasUnreadCheck = false;
  run.isSettled = true;
  Outcome earlier = run.settleEarlier();
  ReadingPtr own = std::exchange(run.unread, nullptr);
  Outcome outcome = own ? own->settle() : std::nullopt;
  return earlier ? earlier : outcome;
}

Outcome GpuProgram::queueUntil(Queueing &run, uint32_t end) {
  Outcome outcome = queueRange(run.stream, std::exchange(run.begin, end), end);
  if (!outcome)
    return std::nullopt;
  // What a call read may be garbage, of a check that failed before it. And the
  // next run is to find no report of this one.
  Outcome before = settle(run);
  return before ? before : outcome;
}

Outcome GpuProgram::queueCallBehind(Queueing &run, uint32_t number) {
  if (Outcome outcome = queueUntil(run, number))
    return outcome;
  calls.countOutside(steps[number].target);
  return queueUntil(run, number + 1);
}

Outcome GpuProgram::queueSteps(Queueing &run, uint32_t end) {
  for (uint32_t i = run.begin; i < end; ++i) {
    bool hasUnread = run.hasUnreadCheck || run.unread;
    if (steps[i].writes_donated && (hasUnread || !run.isSettled)) {
      if (hasUnread) {
        gpu.split.checks += run.begin != i;
        if (Outcome outcome = queueUntil(run, i))
          return outcome;
      }
      if (Outcome outcome = settle(run))
        return outcome;
    }
    if (steps[i].kind == LTC_CALL && !calls.mayBeCaptured(steps[i].target))
      if (Outcome outcome = queueCallBehind(run, i))
        return outcome;
    if (steps[i].kind == LTC_LAUNCH && kernels[steps[i].target].checks)
      run.hasUnreadCheck = true;
    if (!readBehind[i])
      continue;
    gpu.split.checks += i + 1 != end;
    if (Outcome outcome = queueUntil(run, i + 1))
      return outcome;
    if (Outcome outcome = checks->queueRead(run.stream, run.unread))
      return outcome;
    run.hasUnreadCheck = false;
  }
  if (Outcome outcome = queueUntil(run, end))
    return outcome;
  return run.hasUnreadCheck ? checks->queueRead(run.stream, run.unread)
                            : std::nullopt;
}

Outcome GpuProgram::queueRange(CUstream stream, uint32_t first, uint32_t end) {
  if (first == end)
    return std::nullopt;
  work.clear();
  for (uint32_t i = first; i < end; ++i)
    if (Outcome outcome = addStep(i))
      return outcome;
  return graphs[{first, end}].run(gpu, calls, stream, work);
}

Outcome GpuProgram::addStep(size_t number) {
  const ltc_step &step = steps[number];
  if (step.kind == LTC_CALL) {
    work.addCall(calls.idOf(step.target), step.writes_donated,
                 steps.arguments(number));
    return std::nullopt;
  }
  if (step.kind == LTC_COPY) {
    std::span<int64_t> words = steps.arguments(number);
    auto to = CUdeviceptr(words[0]), from = CUdeviceptr(words[1]);
    if (to == from || !words[2])
      return std::nullopt;
    CopyLaunch copy = gpu.copyKernels->launch(to, from, size_t(words[2]));
    work.addLaunch(copy.function, copy.blocks, copy.threads, words);
    return std::nullopt;
  }
  int64_t blocks = steps.iterations(number);
  if (blocks > INT_MAX)
    return Fault{LTC_UNSUPPORTED, "a grid of " + std::to_string(blocks) +
                                      " blocks is larger than a GPU's, " +
                                      std::to_string(INT_MAX)};
  const Kernel &kernel = kernels[step.target];
  if (blocks > 0)
    work.addLaunch(kernel.function, unsigned(blocks), kernel.threads,
                   steps.arguments(number));
  return std::nullopt;
}

} // namespace ltc::cuda
