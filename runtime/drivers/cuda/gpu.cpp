//===- gpu.cpp - A GPU, its context and its memory ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "gpu.h"

#include <algorithm>
#include <charconv>

namespace ltc::cuda {

namespace {

/// What the compiler has numbers for; later GPUs run the code for this one.
constexpr int kOldest = 80, kNewest = 90;
constexpr std::string_view kBeforeChip = "nvptx:nvptx64-nvidia-cuda:sm_";
constexpr std::string_view kLanguage = "+ptx80"; ///< see kOldestVersion

} // namespace

void *GpuMemory::fromSystem(size_t bytes) {
  Entered entered(context);
  CUdeviceptr address = 0;
  CUresult result = api().cuMemAlloc(&address, bytes);
  if (result == CUDA_SUCCESS)
    return reinterpret_cast<void *>(address);
  lastRefusal = result;
  return nullptr;
}

void GpuMemory::toSystem(Block block) {
  Entered entered(context);
  api().cuMemFree(reinterpret_cast<CUdeviceptr>(block.data));
}

Outcome Gpu::open(int ordinal, size_t memoryLimit, const ltc_host &host,
                  std::unique_ptr<Gpu> &gpu) {
  CUdevice device = 0;
  if (Outcome outcome =
          outcomeOf(api().cuDeviceGet(&device, ordinal), "be found"))
    return outcome;
  // PyTorch counts GPUs as the driver does: both heed CUDA_VISIBLE_DEVICES.
  std::unique_ptr<Gpu> made(
      new Gpu(device, memoryLimit, {host, "cuda", uint32_t(ordinal)}));
  if (Outcome outcome = made->describe())
    return outcome;
  if (Outcome outcome =
          outcomeOf(api().cuDevicePrimaryCtxRetain(&made->context, device),
                    "make a context"))
    return outcome;
  made->memory = std::make_unique<GpuMemory>(made->context, memoryLimit);
  Entered entered(made->context);
  if (Outcome outcome = outcomeOf(
          api().cuStreamCreate(&made->transfers, CU_STREAM_NON_BLOCKING),
          "make a stream"))
    return outcome;
  gpu = std::move(made);
  return std::nullopt;
}

Gpu::~Gpu() {
  memory.reset();
  if (!context)
    return;
  {
    Entered entered(context);
    copyKernels.reset();
    for (CUstream stream : {transfers, captures})
      if (stream)
        api().cuStreamDestroy(stream);
  }
  api().cuDevicePrimaryCtxRelease(device);
}

Outcome Gpu::loadCopyKernels() {
  return copyKernels ? std::nullopt : CopyKernels::load(copyKernels);
}

bool Gpu::capturesFor(CUstream stream) {
  if (!captures &&
      api().cuStreamCreate(&captures, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
    return false;
  if (!capturedFor)
    capturedFor = stream;
  return capturedFor == stream;
}

void Gpu::forgetStream(CUstream stream) {
  if (capturedFor == stream)
    capturedFor = nullptr;
}

Outcome Gpu::describe() {
  char text[256] = "";
  int major = 0, minor = 0, count = 0;
  size_t total = 0;
  CUresult result = api().cuDeviceGetName(text, sizeof(text), device);
  auto ask = [&](int &value, CUdevice_attribute attribute) {
    if (result == CUDA_SUCCESS)
      result = api().cuDeviceGetAttribute(&value, attribute, device);
  };
  ask(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  ask(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  ask(count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  if (result == CUDA_SUCCESS)
    result = api().cuDeviceTotalMem(&total, device);
  if (Outcome outcome = outcomeOf(result, "be asked what it is"))
    return outcome;
  name = text;
  capability = 10 * major + minor;
  if (capability < kOldest)
    return Fault{LTC_UNSUPPORTED,
                 "the GPU " + name + " has compute capability " +
                     std::to_string(major) + "." + std::to_string(minor) +
                     ", and 8.0 or later is needed"};
  target = std::string(kBeforeChip) +
           std::to_string(std::min(capability, kNewest)) + ":" +
           std::string(kLanguage);
  bytes = std::to_string(memoryLimit ? std::min(memoryLimit, total) : total);
  processors = std::to_string(count);
  version = std::to_string(driverVersion() / 1000) + "." +
            std::to_string(driverVersion() % 1000 / 10);
  description = name + ", compute capability " + std::to_string(major) + "." +
                std::to_string(minor);
  properties = {
      {"target", target.c_str()},           {"name", name.c_str()},
      {"description", description.c_str()}, {"memory", bytes.c_str()},
      {"processors", processors.c_str()},   {"cuda_version", version.c_str()}};
  return std::nullopt;
}

Outcome Gpu::outOfMemory(size_t wanted) {
  CUresult why = memory->refused();
  if (why != CUDA_ERROR_OUT_OF_MEMORY)
    return outcomeOf(why, "allocate memory");
  std::string message =
      "out of memory: cannot allocate " + std::to_string(wanted) +
      " bytes on " + name + " while " +
      std::to_string(memory->memory(false).allocated) + " are in use and " +
      std::to_string(memoryFree()) + " free";
  if (memoryLimit)
    message += ", with LTC_MEMORY_LIMIT_BYTES " + std::to_string(memoryLimit);
  return Fault{LTC_OUT_OF_MEMORY, std::move(message)};
}

size_t Gpu::memoryFree() {
  Entered entered(context);
  size_t free = 0, total = 0;
  api().cuMemGetInfo(&free, &total);
  ltc_memory own = memory->memory(false);
  free += own.reserved - own.allocated;
  return memoryLimit ? std::min(free, memoryLimit -
                                          std::min(memoryLimit, own.allocated))
                     : free;
}

Outcome Gpu::checkTarget(std::string_view wanted) const {
  int chip = 0;
  if (wanted.starts_with(kBeforeChip)) {
    std::string_view rest = wanted.substr(kBeforeChip.size());
    auto [end, failure] =
        std::from_chars(rest.data(), rest.data() + rest.size(), chip);
    rest.remove_prefix(size_t(end - rest.data()));
    if (failure == std::errc() && chip <= capability &&
        rest == ":" + std::string(kLanguage))
      return std::nullopt;
  }
  return Fault{LTC_UNSUPPORTED, "the code is for " + std::string(wanted) +
                                    ", and this GPU is " + target};
}

} // namespace ltc::cuda
