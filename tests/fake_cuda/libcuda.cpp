//===- libcuda.cpp - NVIDIA's driver API, of GPUs that are not there ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What runtime/drivers/cuda calls, with what the real one refuses: a thread
// without a context, device memory that nobody has, arguments that are wrong.
// Tests put it in front by LD_LIBRARY_PATH, and set it up by FAKE_CUDA.
//
//===----------------------------------------------------------------------===//
#include "fake_gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

using namespace fake_cuda;

namespace {

thread_local std::vector<CUcontext> current;
std::atomic<bool> isStarted = false;

std::mutex pinnedMutex;
std::map<const char *, size_t> pinned;

std::vector<std::unique_ptr<CUctx_st>> &contexts() {
  static auto *all = [] {
    auto *made = new std::vector<std::unique_ptr<CUctx_st>>;
    for (int i = 0; i < options().devices; ++i)
      made->push_back(std::make_unique<CUctx_st>(size_t(options().memory)));
    return made;
  }();
  return *all;
}

bool isPinned(const void *data, size_t bytes) {
  auto begin = static_cast<const char *>(data);
  std::lock_guard lock(pinnedMutex);
  auto behind = pinned.upper_bound(begin);
  if (behind == pinned.begin())
    return false;
  auto [from, size] = *std::prev(behind);
  return size_t(begin - from) + bytes <= size;
}

CUresult checkDevice(CUdevice device) {
  if (!isStarted)
    return CUDA_ERROR_NOT_INITIALIZED;
  return device >= 0 && device < options().devices ? CUDA_SUCCESS
                                                   : CUDA_ERROR_INVALID_DEVICE;
}

} // namespace

namespace fake_cuda {

CUresult check() {
  if (!isStarted)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (current.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  return current.back()->lost;
}

CUresult check(CUstream stream) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  if (!stream || stream->context != current.back())
    return CUDA_ERROR_INVALID_HANDLE;
  return stream->capture && !stream->capture->isValid
             ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
             : CUDA_SUCCESS;
}

CUresult checkUnsafe() {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  return capturing && !isRelaxed ? capturing->invalidate() : CUDA_SUCCESS;
}

CUcontext currentContext() { return current.back(); }

char *findMemory(CUdeviceptr address, size_t bytes) {
  for (const auto &context : contexts())
    if (char *found = context->heap.find(address, bytes))
      return found;
  return nullptr;
}

CUresult makeCopy(CUdeviceptr to, CUdeviceptr from, size_t bytes, Work &work) {
  char *target = findMemory(to, bytes), *source = findMemory(from, bytes);
  bool overlaps = target < source + bytes && source < target + bytes;
  if (!target || !source || overlaps)
    return CUDA_ERROR_INVALID_VALUE;
  work = [=] {
    std::memcpy(target, source, bytes);
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

} // namespace fake_cuda

namespace {

CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  Work work;
  CUresult result = makeCopy(to, from, bytes, work);
  if (result == CUDA_SUCCESS)
    stream->push(std::move(work), CU_GRAPH_NODE_TYPE_MEMCPY);
  return result;
}

struct Named {
  CUresult code;
  const char *name, *text;
};
constexpr Named kErrors[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED",
     "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE",
     "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE",
     "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT",
     "invalid device context"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "invalid PTX"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE",
     "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
     "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
     "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED",
     "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED",
     "operation not supported"}};

const Named *find(CUresult code) {
  auto found = std::ranges::find(kErrors, code, &Named::code);
  return found == std::end(kErrors) ? nullptr : &*found;
}

} // namespace

void *fakeCudaHostAddress(CUdeviceptr address, size_t bytes) {
  return findMemory(address, bytes);
}

void fakeCudaQueue(CUstream stream, void (*work)(void *), void *argument) {
  stream->push([work, argument] {
    work(argument);
    return CUDA_SUCCESS;
  });
}

CUresult cuGetErrorName(CUresult code, const char **name) {
  const Named *known = find(code);
  *name = known ? known->name : nullptr;
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text) {
  const Named *known = find(code);
  *text = known ? known->text : nullptr;
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version) {
  *version = options().version;
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned) {
  if (options().init)
    return CUresult(options().init);
  if (!options().devices)
    return CUDA_ERROR_NO_DEVICE;
  isStarted = true;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  if (!isStarted)
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = options().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  CUresult result = checkDevice(ordinal);
  if (result == CUDA_SUCCESS)
    *device = ordinal;
  return result;
}

CUresult cuDeviceGetName(char *name, int capacity, CUdevice device) {
  CUresult result = checkDevice(device);
  if (result == CUDA_SUCCESS)
    std::snprintf(name, size_t(capacity), "Fake GPU");
  return result;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device) {
  CUresult result = checkDevice(device);
  if (result != CUDA_SUCCESS)
    return result;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 1;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = options().capability / 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = options().capability % 10;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  *bytes = size_t(options().memory);
  return checkDevice(device);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  CUresult result = checkDevice(device);
  if (result != CUDA_SUCCESS)
    return result;
  *context = contexts()[size_t(device)].get();
  ++(*context)->retained;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CUresult result = checkDevice(device);
  if (result == CUDA_SUCCESS && --contexts()[size_t(device)]->retained < 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  return result;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (!context || context->retained <= 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  current.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (current.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = current.back();
  current.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  *free = current.back()->heap.freeBytes();
  *total = size_t(options().memory);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  if (CUresult result = checkUnsafe(); result != CUDA_SUCCESS)
    return result;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr found = current.back()->heap.allocate(bytes);
  if (!found)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = found;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  if (CUresult result = checkUnsafe(); result != CUDA_SUCCESS)
    return result;
  return current.back()->heap.free(address) ? CUDA_SUCCESS
                                            : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  if (CUresult result = checkUnsafe(); result != CUDA_SUCCESS)
    return result;
  constexpr size_t page = 4096;
  void *made = bytes && bytes < SIZE_MAX / 2
                   ? std::aligned_alloc(page, (bytes + page - 1) / page * page)
                   : nullptr;
  if (!made)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(pinnedMutex);
  pinned[static_cast<char *>(made)] = bytes;
  *data = made;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *data) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  std::lock_guard lock(pinnedMutex);
  if (!pinned.erase(static_cast<char *>(data)))
    return CUDA_ERROR_INVALID_VALUE;
  std::free(data);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream stream) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  char *target = findMemory(to, bytes);
  if (!target)
    return CUDA_ERROR_INVALID_VALUE;
  // Pinned memory is read late, other at once.
  std::shared_ptr<char[]> staged;
  if (!isPinned(from, bytes)) {
    staged = std::make_unique<char[]>(bytes);
    std::memcpy(staged.get(), from, bytes);
  }
  stream->push(
      [=] {
        std::memcpy(target, staged ? staged.get() : from, bytes);
        return CUDA_SUCCESS;
      },
      CU_GRAPH_NODE_TYPE_HOST); // which the driver must see is the host's
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  const char *source = findMemory(from, bytes);
  if (!source)
    return CUDA_ERROR_INVALID_VALUE;
  bool waits = !isPinned(to, bytes); // as the real one does
  if (CUresult result = waits ? stream->invalidate() : CUDA_SUCCESS;
      result != CUDA_SUCCESS)
    return result;
  stream->push(
      [=] {
        std::memcpy(to, source, bytes);
        return CUDA_SUCCESS;
      },
      CU_GRAPH_NODE_TYPE_HOST);
  if (waits)
    stream->mark()->wait();
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  CUresult result = check(stream);
  return result == CUDA_SUCCESS ? copy(to, from, bytes, stream) : result;
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext,
                           CUdeviceptr from, CUcontext fromContext,
                           size_t bytes, CUstream stream) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  if (!toContext->heap.find(to, bytes) || !fromContext->heap.find(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return copy(to, from, bytes, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream stream) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  char *target = findMemory(to, bytes);
  if (!target)
    return CUDA_ERROR_INVALID_VALUE;
  stream->push(
      [=] {
        std::memset(target, value, bytes);
        return CUDA_SUCCESS;
      },
      CU_GRAPH_NODE_TYPE_MEMSET);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  *stream = new CUstream_st(current.back());
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  CUresult result = check(stream);
  if (result == CUDA_SUCCESS)
    result = stream->invalidate();
  if (result != CUDA_SUCCESS)
    return result;
  stream->mark()->wait();
  return stream->context->lost;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  if (stream->capture) { // what it waits for is not in the graph
    stream->invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (event->recorded)
    stream->push([reached = event->recorded] {
      reached->wait();
      return CUDA_SUCCESS;
    });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  *event = new CUevent_st{current.back(), nullptr};
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  event->isCaptured = stream->capture.has_value();
  if (!event->isCaptured)
    event->recorded = stream->mark();
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
  if (event->isCaptured)
    return CUDA_ERROR_CAPTURED_EVENT;
  if (event->recorded && !event->recorded->isReached())
    return CUDA_ERROR_NOT_READY;
  return event->context->lost;
}

CUresult cuEventSynchronize(CUevent event) {
  if (event->isCaptured)
    return CUDA_ERROR_CAPTURED_EVENT;
  if (event->recorded)
    event->recorded->wait();
  return event->context->lost;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  if (!start->recorded || !end->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->recorded->isReached() || !end->recorded->isReached())
    return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(
                      end->recorded->time() - start->recorded->time())
                      .count();
  return CUDA_SUCCESS;
}
