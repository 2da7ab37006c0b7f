//===- driver.cpp - A device that computes nothing --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Complete but for the arithmetic: two devices with host memory that load any
// artifact and fill every result with zeros. Lets every stage but the last be
// tested, and shows a vendor the whole of plugin.h in one file.
//
//===----------------------------------------------------------------------===//
#include "ltc/artifact.h"
#include "ltc/plugin.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

using namespace ltc;

struct ltc_error {
  ltc_error_code code;
  std::string message;
};

struct ltc_buffer {
  void *data;
  size_t bytes;
};

struct ltc_device {
  std::mutex mutex;
  ltc_memory memory = {};
  size_t limit = 0;
};

struct ltc_program {
  Artifact artifact;
};

namespace {

constexpr uint32_t devices = 2;
constexpr size_t alignment = 64;

ltc_error *fail(ltc_error_code code, std::string message) {
  return new ltc_error{code, std::move(message)};
}

void errorRead(const ltc_error *error, ltc_error_info *info) {
  info->code = error->code;
  info->message = error->message.c_str();
  info->site = -1;
}
void errorFree(ltc_error *error) { delete error; }

ltc_error *deviceCount(uint32_t *count) {
  *count = devices;
  return nullptr;
}

ltc_error *deviceOpen(uint32_t ordinal, const ltc_property *options,
                      size_t optionCount, ltc_device **device) {
  if (ordinal >= devices)
    return fail(LTC_INVALID_ARGUMENT,
                "the null driver has no device " + std::to_string(ordinal));
  size_t limit = 0;
  for (size_t i = 0; i < optionCount; ++i) {
    if (options[i].name != std::string_view("memory_limit"))
      return fail(LTC_INVALID_ARGUMENT, "the null driver has no option " +
                                            std::string(options[i].name));
    char *end = nullptr;
    limit = std::strtoull(options[i].value, &end, 10);
    if (end == options[i].value || *end)
      return fail(LTC_INVALID_ARGUMENT, "memory_limit is a number of bytes");
  }
  *device = new ltc_device;
  (*device)->limit = limit;
  return nullptr;
}

void deviceClose(ltc_device *device) { delete device; }

// The host's own machine: code for it is never run, nor is a library call.
const ltc_property *properties(ltc_device *, size_t *count) {
  static const ltc_property all[] = {
      {"target", "cpu:::"}, {"calls", "all"}, {"computes", "nothing"}};
  *count = std::size(all);
  return all;
}

ltc_error *bufferAlloc(ltc_device *device, size_t bytes, ltc_buffer **buffer) {
  std::lock_guard lock(device->mutex);
  ltc_memory &memory = device->memory;
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  bool fits = rounded >= bytes && rounded <= PTRDIFF_MAX &&
              (!device->limit || rounded <= device->limit - memory.allocated);
  void *data =
      fits ? std::aligned_alloc(alignment, rounded ? rounded : alignment)
           : nullptr;
  if (!data)
    return fail(LTC_OUT_OF_MEMORY, "cannot allocate " + std::to_string(bytes) +
                                       " bytes on the null device");
  memory.allocated += rounded;
  memory.reserved = memory.allocated;
  memory.max_allocated = std::max(memory.max_allocated, memory.allocated);
  *buffer = new ltc_buffer{data, bytes};
  return nullptr;
}

void bufferFree(ltc_device *device, ltc_buffer *buffer) {
  {
    std::lock_guard lock(device->mutex);
    device->memory.allocated -=
        (buffer->bytes + alignment - 1) / alignment * alignment;
    device->memory.reserved = device->memory.allocated;
  }
  std::free(buffer->data);
  delete buffer;
}

bool inside(const ltc_buffer *buffer, size_t offset, size_t bytes) {
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

ltc_error *bufferWrite(ltc_device *, ltc_queue *, ltc_buffer *buffer,
                       size_t offset, ltc_bytes data) {
  if (!inside(buffer, offset, data.size))
    return fail(LTC_INVALID_ARGUMENT, "the write ends outside of the buffer");
  auto *to = static_cast<char *>(buffer->data) + offset;
  if (data.data)
    std::memcpy(to, data.data, data.size);
  else if (data.size)
    std::memset(to, 0, data.size);
  return nullptr;
}

ltc_error *bufferRead(ltc_device *, ltc_queue *, ltc_buffer *buffer,
                      size_t offset, void *data, size_t bytes) {
  if (!inside(buffer, offset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the read ends outside of the buffer");
  if (bytes)
    std::memcpy(data, static_cast<char *>(buffer->data) + offset, bytes);
  return nullptr;
}

void memory(ltc_device *device, ltc_memory *out, int32_t resetPeak) {
  std::lock_guard lock(device->mutex);
  if (resetPeak)
    device->memory.max_allocated = device->memory.allocated;
  out->allocated = device->memory.allocated;
  out->max_allocated = device->memory.max_allocated;
  out->reserved = device->memory.reserved;
}

ltc_error *programLoad(ltc_device *, ltc_bytes bytes, ltc_program **program) {
  Result<Artifact> artifact = Artifact::deserialize(
      {static_cast<const char *>(bytes.data), bytes.size});
  if (!artifact)
    return fail(LTC_INVALID_ARGUMENT, artifact.error().message);
  *program = new ltc_program{std::move(*artifact)};
  return nullptr;
}

void programFree(ltc_device *, ltc_program *program) { delete program; }

ltc_error *programRun(ltc_device *, ltc_queue *, ltc_program *program,
                      const ltc_launch *launch) {
  const Artifact &artifact = program->artifact;
  size_t count = launch->operand_count;
  if (launch->symbol_count != artifact.symbols)
    return fail(LTC_INVALID_ARGUMENT, "the program has other symbols than " +
                                          std::to_string(launch->symbol_count));
  if (count != artifact.inputs.size() + artifact.results.size())
    return fail(LTC_INVALID_ARGUMENT, "the program takes other operands than " +
                                          std::to_string(count));
  for (size_t i = artifact.inputs.size(); i < count; ++i) {
    ltc_buffer *buffer = launch->operands[i].buffer;
    std::memset(buffer->data, 0, buffer->bytes);
  }
  return nullptr;
}

// No queues: every call is done when it returns. No pointer for the host: as on
// a device with memory of its own, every transfer is a copy.
constexpr ltc_plugin plugin = [] {
  ltc_plugin all = {};
  all.struct_size = LTC_PLUGIN_REQUIRED_SIZE;
  all.name = "null";
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
  return all;
}();

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor, const ltc_host *) {
  return abiMajor == LTC_ABI_MAJOR ? &plugin : nullptr;
}
