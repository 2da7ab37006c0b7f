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
  Result<Steps> steps = Steps::take(artifact);
  if (!steps)
    return invalid(steps.error());
  std::unique_ptr<GpuProgram> made(new GpuProgram(gpu, std::move(*steps)));
  Entered entered(gpu.context);
  if (Outcome outcome = made->loadModules(artifact))
    return outcome;
  if (Outcome outcome = made->findKernels(artifact))
    return outcome;
  if (Outcome outcome = made->makeReports())
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
  graphs.clear();
  for (const Module &module : modules)
    api().cuModuleUnload(module.handle);
  if (reports)
    api().cuMemFreeHost(reports);
  if (symbols.data)
    gpu.memory->free(symbols);
  for (CUevent event : {isRead, isDone})
    if (event)
      api().cuEventDestroy(event);
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
    size_t bytes = 0;
    CUdeviceptr report = 0;
    if (api().cuModuleGetGlobal(&report, &bytes, module.handle, "ltc_report") ==
            CUDA_SUCCESS &&
        bytes >= sizeof(Report))
      module.report = report;
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
        module.report && mayReport(artifact.blobs[kernel.blob], kernel.name);
    kernels.push_back(found);
  }
  return std::nullopt;
}

Outcome GpuProgram::makeReports() {
  if (std::ranges::none_of(kernels, &Kernel::checks))
    return std::nullopt;
  void *memory = nullptr;
  CUresult result = api().cuMemHostAlloc(
      &memory, modules.size() * sizeof(Report), CU_MEMHOSTALLOC_PORTABLE);
  reports = static_cast<Report *>(memory);
  if (result == CUDA_SUCCESS)
    result = api().cuEventCreate(&isRead, CU_EVENT_DISABLE_TIMING);
  return outcomeOf(result, "get host memory for checks");
}

bool GpuProgram::hasCopies() const {
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].kind == LTC_COPY)
      return true;
  return false;
}

void GpuProgram::findReads() {
  readBehind.resize(steps.size());
  bool isNeeded = true; // at the end
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
  if (Status status = steps.check(operands, memory, arena); !status)
    return invalid(status.error());
  steps.place(operands, memory, arena, symbols.data);
  return std::nullopt;
}

Outcome GpuProgram::run(CUstream stream, uint32_t first, uint32_t end) {
  Entered entered(gpu.context);
  end = std::min(end, uint32_t(steps.size()));
  if (!symbols.data)
    return queueSteps(stream, first, end);
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
  Outcome outcome = queueSteps(stream, first, end);
  lastStream = stream;
  result = api().cuEventRecord(isDone, stream);
  return outcome ? outcome : outcomeOf(result, "record an event");
}

Outcome GpuProgram::queueSteps(CUstream stream, uint32_t first, uint32_t end) {
  enum { None, Unread, Queued } checks = None;
  auto settle = [&]() -> Outcome {
    if (checks == Unread)
      if (Outcome outcome = queueRead(stream))
        return outcome;
    return std::exchange(checks, None) == None ? std::nullopt
                                               : awaitRead(stream);
  };
  uint32_t begin = first; // of what is not queued yet
  auto queueUntil = [&](uint32_t next) -> Outcome {
    Outcome outcome = queueRange(stream, std::exchange(begin, next), next);
    if (outcome)
      (void)settle(); // so that the next run finds no report of this one
    return outcome;
  };
  for (uint32_t i = first; i < end; ++i) {
    if (steps[i].writes_donated && checks != None) {
      gpu.split.checks += begin != i;
      if (Outcome outcome = queueUntil(i))
        return outcome;
      if (Outcome outcome = settle())
        return outcome;
    }
    if (steps[i].kind == LTC_LAUNCH && kernels[steps[i].target].checks)
      checks = Unread;
    if (!readBehind[i])
      continue;
    gpu.split.checks += i + 1 != end;
    if (Outcome outcome = queueUntil(i + 1))
      return outcome;
    if (Outcome outcome = queueRead(stream))
      return outcome;
    checks = Queued;
  }
  if (Outcome outcome = queueUntil(end))
    return outcome;
  return settle();
}

Outcome GpuProgram::queueRange(CUstream stream, uint32_t first, uint32_t end) {
  if (first == end)
    return std::nullopt;
  work.clear();
  for (uint32_t i = first; i < end; ++i)
    if (Outcome outcome = addStep(i))
      return outcome;
  return graphs[{first, end}].run(gpu, stream, work);
}

Outcome GpuProgram::addStep(size_t number) {
  const ltc_step &step = steps[number];
  if (step.kind == LTC_CALL)
    return Fault{LTC_UNSUPPORTED, "the driver cuda does no library calls"};
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

Outcome GpuProgram::queueRead(CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < modules.size() && result == CUDA_SUCCESS; ++i) {
    reports[i] = {};
    if (modules[i].report)
      result = api().cuMemcpyDtoHAsync(&reports[i], modules[i].report,
                                       sizeof(Report), stream);
  }
  if (result == CUDA_SUCCESS)
    result = api().cuEventRecord(isRead, stream);
  return outcomeOf(result, "read what checks say");
}

Outcome GpuProgram::awaitRead(CUstream stream) {
  if (Outcome outcome =
          outcomeOf(api().cuEventSynchronize(isRead), "run a program"))
    return outcome;
  const Report *first = nullptr;
  for (size_t i = 0; i < modules.size(); ++i) {
    if (!reports[i].isThere)
      continue;
    api().cuMemsetD8Async(modules[i].report, 0, sizeof(Report), stream);
    if (!first || reports[i].site < first->site)
      first = &reports[i];
  }
  if (!first)
    return std::nullopt;
  if (first->size < 0)
    return Fault{LTC_INVALID_ARGUMENT, steps.valueError(first->site),
                 first->site};
  return Fault{LTC_OUT_OF_RANGE,
               steps.indexError(first->site, first->index, first->size),
               first->site};
}

} // namespace ltc::cuda
