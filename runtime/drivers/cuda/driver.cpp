//===- driver.cpp - NVIDIA's GPUs behind plugin.h -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue is a stream, a fence an event. What checks in kernels say is looked
// at late: launches behind one that failed may have run by then, on garbage and
// into memory that nobody looks at. Only what writes to donated memory waits.
//
//===----------------------------------------------------------------------===//
#include "gpu_program.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

using namespace ltc;
using namespace ltc::cuda;

struct ltc_error {
  Fault fault;
};

struct ltc_device {
  std::unique_ptr<Gpu> gpu;
};

struct ltc_buffer {
  BlockPool::Block block;
  size_t bytes; ///< as asked for
  bool isImported = false;
  CUdeviceptr at(size_t offset) const {
    return reinterpret_cast<CUdeviceptr>(block.data) + offset;
  }
};

struct ltc_program {
  std::unique_ptr<GpuProgram> program;
};

struct ltc_queue {
  CUstream stream = nullptr;
  bool hasFailed = false;            ///< launches are skipped until it resumes
  Outcome sinceFence = std::nullopt; ///< the first failure
  /// Those of launches since the last fence, and of those before it since the
  /// queue resumed, unless they are known to be good.
  std::vector<ReadingPtr> readings = {}, earlier = {};
  bool hasLaunched = false; ///< since the last fence

  void fail(Fault fault) {
    hasFailed = true;
    if (!sinceFence)
      sinceFence = std::move(fault);
  }

  /// Whether a launch is known to have failed, also by its checks.
  bool isStopped() const {
    auto failed = [](const ReadingPtr &reading) {
      return reading->hasFailed();
    };
    return hasFailed || std::ranges::any_of(earlier, failed) ||
           std::ranges::any_of(readings, failed);
  }

  /// Waits for what the checks of all launches said.
  Outcome settle() {
    for (auto *some : {&earlier, &readings})
      for (const ReadingPtr &reading : *some)
        if (reading->settle())
          return Fault{LTC_SKIPPED, "a launch before it failed"};
    return std::nullopt;
  }
};

struct ltc_fence {
  CUevent event = nullptr;
  Outcome outcome;
  std::vector<ReadingPtr> readings, earlier;
  bool hasLaunched = false;

  /// Once it is reached: what failed between the fence before and this one.
  Outcome settle() {
    for (const ReadingPtr &reading : earlier)
      if (reading->settle() && hasLaunched)
        return Fault{LTC_SKIPPED, "a launch before it failed"};
    for (const ReadingPtr &reading : readings)
      if (Outcome failed = reading->settle())
        return failed;
    return outcome;
  }
};

namespace {

const ltc_host *host = nullptr;

ltc_error *errorOf(Outcome outcome) {
  return outcome ? new ltc_error{std::move(*outcome)} : nullptr;
}
ltc_error *fail(ltc_error_code code, std::string message) {
  return new ltc_error{{code, std::move(message)}};
}

void errorRead(const ltc_error *error, ltc_error_info *info) {
  info->code = error->fault.code;
  info->message = error->fault.message.c_str();
  info->site = error->fault.site;
}
void errorFree(ltc_error *error) { delete error; }

ltc_error *deviceCount(uint32_t *count) {
  if (Outcome outcome = start())
    return errorOf(std::move(outcome));
  int devices = 0;
  CUresult result = api().cuDeviceGetCount(&devices);
  if (result == CUDA_SUCCESS)
    *count = uint32_t(devices);
  return errorOf(outcomeOf(result, "be counted"));
}

ltc_error *deviceOpen(uint32_t ordinal, const ltc_property *options,
                      size_t optionCount, ltc_device **device) {
  uint32_t count = 0;
  if (ltc_error *error = deviceCount(&count))
    return error;
  if (ordinal >= count)
    return fail(LTC_INVALID_ARGUMENT, "there is no GPU " +
                                          std::to_string(ordinal) + " of " +
                                          std::to_string(count));
  size_t limit = 0;
  for (size_t i = 0; i < optionCount; ++i) {
    std::string_view name = options[i].name, value = options[i].value;
    if (name != "memory_limit")
      return fail(LTC_INVALID_ARGUMENT,
                  "the driver cuda has no option " + std::string(name) +
                      ": its option is memory_limit, in bytes");
    auto [end, failure] =
        std::from_chars(value.data(), value.data() + value.size(), limit);
    if (failure != std::errc() || end != value.data() + value.size())
      return fail(LTC_INVALID_ARGUMENT,
                  "memory_limit takes a number of bytes, not '" +
                      std::string(value) + "'");
  }
  auto made = std::make_unique<ltc_device>();
  if (Outcome outcome = Gpu::open(int(ordinal), limit, *host, made->gpu))
    return errorOf(std::move(outcome));
  *device = made.release();
  return nullptr;
}

void deviceClose(ltc_device *device) { delete device; }

const ltc_property *properties(ltc_device *device, size_t *count) {
  *count = device->gpu->properties.size();
  return device->gpu->properties.data();
}

ltc_error *bufferAlloc(ltc_device *device, size_t bytes, ltc_buffer **buffer) {
  BlockPool::Block block = device->gpu->memory->allocate(bytes);
  if (!block.data)
    return errorOf(device->gpu->outOfMemory(bytes));
  *buffer = new ltc_buffer{block, bytes};
  return nullptr;
}

void bufferFree(ltc_device *device, ltc_buffer *buffer) {
  if (!buffer->isImported)
    device->gpu->memory->free(buffer->block);
  delete buffer;
}

ltc_error *bufferImportOn(ltc_device *device, const char *type, uint32_t number,
                          void *data, size_t bytes, ltc_buffer **buffer) {
  const drivers::Library &library = device->gpu->library;
  if (library.type != std::string_view(type) || library.number != number)
    return fail(LTC_UNSUPPORTED, "the memory is not on this GPU");
  *buffer = new ltc_buffer{{data, bytes}, bytes, true};
  return nullptr;
}

bool inside(const ltc_buffer *buffer, size_t offset, size_t bytes) {
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

CUstream streamOf(ltc_queue *queue) { return queue ? queue->stream : nullptr; }

ltc_error *bufferWrite(ltc_device *device, ltc_queue *queue, ltc_buffer *buffer,
                       size_t offset, ltc_bytes data) {
  if (!inside(buffer, offset, data.size))
    return fail(LTC_INVALID_ARGUMENT, "the write ends outside of the buffer");
  if (!data.size)
    return nullptr;
  return errorOf(device->gpu->transfer(
      streamOf(queue), "write memory", [&](CUstream stream) {
        CUdeviceptr to = buffer->at(offset);
        return data.data
                   ? api().cuMemcpyHtoDAsync(to, data.data, data.size, stream)
                   : api().cuMemsetD8Async(to, 0, data.size, stream);
      }));
}

ltc_error *bufferRead(ltc_device *device, ltc_queue *queue, ltc_buffer *buffer,
                      size_t offset, void *data, size_t bytes) {
  if (!inside(buffer, offset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the read ends outside of the buffer");
  if (!bytes)
    return nullptr;
  return errorOf(device->gpu->transfer(
      streamOf(queue), "read memory", [&](CUstream stream) {
        return api().cuMemcpyDtoHAsync(data, buffer->at(offset), bytes, stream);
      }));
}

ltc_error *copy(ltc_device *device, ltc_queue *queue, ltc_buffer *to,
                size_t toOffset, ltc_device *fromDevice, ltc_buffer *from,
                size_t fromOffset, size_t bytes) {
  if (!inside(to, toOffset, bytes) || !inside(from, fromOffset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the copy ends outside of a buffer");
  if (!bytes)
    return nullptr;
  CUcontext here = device->gpu->context, there = fromDevice->gpu->context;
  return errorOf(device->gpu->transfer(
      streamOf(queue), "copy memory", [&](CUstream stream) {
        CUdeviceptr target = to->at(toOffset), source = from->at(fromOffset);
        return here == there
                   ? api().cuMemcpyDtoDAsync(target, source, bytes, stream)
                   : api().cuMemcpyPeerAsync(target, here, source, there, bytes,
                                             stream);
      }));
}

ltc_error *bufferCopy(ltc_device *device, ltc_queue *queue, ltc_buffer *to,
                      size_t toOffset, ltc_buffer *from, size_t fromOffset,
                      size_t bytes) {
  return copy(device, queue, to, toOffset, device, from, fromOffset, bytes);
}

ltc_error *hostAlloc(ltc_device *device, size_t bytes, void **data) {
  Entered entered(device->gpu->context);
  void *pinned = nullptr;
  CUresult result = api().cuMemHostAlloc(&pinned, std::max<size_t>(bytes, 1),
                                         CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_SUCCESS)
    *data = pinned;
  return errorOf(outcomeOf(result, "pin host memory"));
}

void hostFree(ltc_device *device, void *data) {
  Entered entered(device->gpu->context);
  api().cuMemFreeHost(data);
}

void memory(ltc_device *device, ltc_memory *out, int32_t resetPeak) {
  ltc_memory now = device->gpu->memory->memory(resetPeak);
  out->allocated = now.allocated;
  out->max_allocated = now.max_allocated;
  out->reserved = now.reserved;
}

ltc_error *programLoad(ltc_device *device, ltc_bytes bytes,
                       ltc_program **program) {
  Result<Artifact> artifact = Artifact::deserialize(
      {static_cast<const char *>(bytes.data), bytes.size});
  if (!artifact)
    return fail(LTC_INVALID_ARGUMENT, artifact.error().message);
  auto made = std::make_unique<ltc_program>();
  if (Outcome outcome =
          GpuProgram::load(*device->gpu, std::move(*artifact), made->program))
    return errorOf(std::move(outcome));
  *program = made.release();
  return nullptr;
}

void programFree(ltc_device *, ltc_program *program) { delete program; }

OperandMemory memoryOf(const ltc_buffer *buffer) {
  return buffer ? OperandMemory{buffer->block.data, buffer->bytes}
                : OperandMemory();
}

ltc_error *programRun(ltc_device *device, ltc_queue *queue,
                      ltc_program *program, const ltc_launch *launch) {
  if (queue)
    queue->hasLaunched = true;
  if (queue && queue->isStopped()) {
    queue->fail({LTC_SKIPPED, "a launch before it failed"});
    return nullptr;
  }
  std::vector<OperandMemory> memory;
  for (size_t i = 0; i < launch->operand_count; ++i)
    memory.push_back(memoryOf(launch->operands[i].buffer));
  GpuProgram &loaded = *program->program;
  if (Outcome outcome =
          loaded.prepare(*launch, memory, memoryOf(launch->arena)))
    return errorOf(std::move(outcome));
  Gpu &gpu = *device->gpu;
  CUstream stream = queue ? queue->stream : gpu.transfers;
  gpu.split.calls += launch->first_step > 0;
  ReadingPtr reading;
  Outcome outcome = loaded.run(
      stream, launch->first_step, launch->end_step,
      [&] { return queue ? queue->settle() : std::nullopt; }, reading);
  if (queue) {
    if (outcome)
      queue->fail(std::move(*outcome));
    if (reading)
      queue->readings.push_back(std::move(reading));
    return nullptr;
  }
  Entered entered(gpu.context);
  Outcome end = outcomeOf(api().cuStreamSynchronize(stream), "run a program");
  if (!end && reading)
    end = reading->settle();
  return errorOf(outcome ? std::move(outcome) : std::move(end));
}

int32_t callTaken(ltc_device *device, ltc_bytes text) {
  Result<Graph> call =
      Graph::parse({static_cast<const char *>(text.data), text.size});
  return call && device->gpu->library.has(*call);
}

ltc_error *queueCreate(ltc_device *device, ltc_queue **queue) {
  Entered entered(device->gpu->context);
  CUstream stream = nullptr;
  CUresult result = api().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  if (result == CUDA_SUCCESS)
    *queue = new ltc_queue{stream};
  return errorOf(outcomeOf(result, "make a stream"));
}

void queueFree(ltc_device *device, ltc_queue *queue) {
  Entered entered(device->gpu->context);
  device->gpu->forgetStream(queue->stream);
  api().cuStreamDestroy(queue->stream);
  delete queue;
}

ltc_error *queueResume(ltc_device *device, ltc_queue *queue) {
  Entered entered(device->gpu->context);
  (void)queue->settle(); // so that no later run finds what these found
  for (const ReadingPtr &reading : std::exchange(queue->readings, {}))
    if (Outcome failed = reading->settle(); failed && !queue->sinceFence)
      queue->sinceFence = failed;
  queue->earlier.clear();
  queue->hasFailed = false;
  return nullptr;
}

ltc_error *queueWait(ltc_device *device, ltc_queue *queue, ltc_fence *fence) {
  Entered entered(device->gpu->context);
  return errorOf(
      outcomeOf(api().cuStreamWaitEvent(queue->stream, fence->event, 0),
                "wait for another queue"));
}

ltc_error *fenceRecord(ltc_device *device, ltc_queue *queue,
                       ltc_fence **fence) {
  Entered entered(device->gpu->context);
  auto made = std::make_unique<ltc_fence>();
  CUresult result = api().cuEventCreate(&made->event, 0);
  if (result == CUDA_SUCCESS)
    result = api().cuEventRecord(made->event, queue->stream);
  if (Outcome outcome = outcomeOf(result, "record an event")) {
    if (made->event)
      api().cuEventDestroy(made->event);
    return errorOf(std::move(outcome));
  }
  made->outcome = std::exchange(queue->sinceFence, std::nullopt);
  made->hasLaunched = std::exchange(queue->hasLaunched, false);
  std::erase_if(queue->earlier,
                [](const ReadingPtr &old) { return old->isGood(); });
  made->earlier = queue->earlier;
  made->readings = std::exchange(queue->readings, {});
  queue->earlier.insert(queue->earlier.end(), made->readings.begin(),
                        made->readings.end());
  *fence = made.release();
  return nullptr;
}

/// CUDA waits without a limit or only asks.
CUresult waitFor(CUevent event, std::chrono::nanoseconds time) {
  constexpr auto pause = std::chrono::microseconds(20);
  if (time.count() < 0)
    return api().cuEventSynchronize(event);
  auto begin = std::chrono::steady_clock::now();
  CUresult result;
  while ((result = api().cuEventQuery(event)) == CUDA_ERROR_NOT_READY &&
         std::chrono::steady_clock::now() - begin < time)
    std::this_thread::sleep_for(pause);
  return result;
}

ltc_error *fenceWait(ltc_device *device, ltc_fence *fence, int64_t nanoseconds,
                     int32_t *reached) {
  Entered entered(device->gpu->context);
  CUresult result =
      waitFor(fence->event, std::chrono::nanoseconds(nanoseconds));
  *reached = result != CUDA_ERROR_NOT_READY;
  if (!*reached)
    return nullptr;
  // A lost context ends what is queued, also what failed before it was lost.
  Outcome failed = fence->settle();
  return errorOf(failed ? failed : outcomeOf(result, "run what was queued"));
}

void fenceFree(ltc_device *device, ltc_fence *fence) {
  Entered entered(device->gpu->context);
  api().cuEventDestroy(fence->event);
  delete fence;
}

ltc_error *fenceElapsed(ltc_device *device, ltc_fence *begin, ltc_fence *end,
                        double *seconds) {
  Entered entered(device->gpu->context);
  float milliseconds = 0;
  CUresult result =
      api().cuEventElapsedTime(&milliseconds, begin->event, end->event);
  if (result == CUDA_SUCCESS)
    *seconds = double(milliseconds) / 1e3;
  return errorOf(outcomeOf(result, "tell the time between two events"));
}

/// Of static storage.
const char *lasting(const std::string &name) {
  static std::mutex mutex;
  static auto *all = new std::set<std::string>;
  std::lock_guard lock(mutex);
  return all->insert(name).first->c_str();
}

size_t statistics(ltc_device *device, ltc_statistic *out, size_t capacity) {
  Gpu &gpu = *device->gpu;
  std::vector<ltc_statistic> all = {
      {"launches", gpu.launches},
      {"copies", gpu.copies},
      {"graphs", gpu.graphs},
      {"queued_unlike", gpu.queued.unlike},
      {"queued_refused", gpu.queued.refused},
      {"queued_uncaptured", gpu.queued.uncaptured},
      {"calls", gpu.calls},
      {"captures", gpu.captured},
      {"split_calls", gpu.split.calls},
      {"split_checks", gpu.split.checks},
      {"memory_free", int64_t(gpu.memoryFree())}};
  gpu.split.kernels.forEach([&](const std::string &name, int64_t count) {
    all.push_back({lasting("split_" + name), count});
  });
  std::copy_n(all.begin(), std::min(capacity, all.size()), out);
  return all.size();
}

constexpr ltc_plugin plugin = [] {
  ltc_plugin all = {};
  all.struct_size = sizeof(ltc_plugin);
  all.name = "cuda";
  all.error_read = errorRead;
  all.error_free = errorFree;
  all.device_count = deviceCount;
  all.device_open = deviceOpen;
  all.device_close = deviceClose;
  all.properties = properties;
  all.buffer_alloc = bufferAlloc;
  all.buffer_free = bufferFree;
  all.buffer_write = bufferWrite;
  all.buffer_read = bufferRead;
  all.memory = memory;
  all.program_load = programLoad;
  all.program_free = programFree;
  all.program_run = programRun;
  all.call_taken = callTaken;
  all.queue_create = queueCreate;
  all.queue_free = queueFree;
  all.queue_resume = queueResume;
  all.fence_record = fenceRecord;
  all.fence_wait = fenceWait;
  all.fence_free = fenceFree;
  all.queue_wait = queueWait;
  all.fence_elapsed = fenceElapsed;
  all.buffer_copy = bufferCopy;
  all.host_alloc = hostAlloc;
  all.host_free = hostFree;
  all.statistics = statistics;
  all.buffer_copy_between = copy;
  all.buffer_import_on = bufferImportOn;
  return all;
}();

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor, const ltc_host *lent) {
  host = lent;
  return abiMajor == LTC_ABI_MAJOR ? &plugin : nullptr;
}
