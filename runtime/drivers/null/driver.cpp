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

ltc_error_code errorCode(const ltc_error *error) { return error->code; }
const char *errorMessage(const ltc_error *error) {
  return error->message.c_str();
}
int64_t errorSite(const ltc_error *) { return -1; }
void errorFree(ltc_error *error) { delete error; }

ltc_error *deviceCount(uint32_t *count) {
  *count = devices;
  return nullptr;
}

ltc_error *deviceOpen(uint32_t ordinal, const ltc_host *, size_t memoryLimit,
                      ltc_device **device) {
  if (ordinal >= devices)
    return fail(LTC_INVALID_ARGUMENT,
                "the null driver has no device " + std::to_string(ordinal));
  *device = new ltc_device;
  (*device)->limit = memoryLimit;
  return nullptr;
}

void deviceClose(ltc_device *device) { delete device; }

// The host's own machine: code for it is never run.
const char *target(ltc_device *) { return "cpu:::"; }

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

ltc_error *bufferWrite(ltc_device *, ltc_buffer *buffer, size_t offset,
                       ltc_bytes data) {
  if (!inside(buffer, offset, data.size))
    return fail(LTC_INVALID_ARGUMENT, "the write ends outside of the buffer");
  auto *to = static_cast<char *>(buffer->data) + offset;
  if (data.data)
    std::memcpy(to, data.data, data.size);
  else if (data.size)
    std::memset(to, 0, data.size);
  return nullptr;
}

ltc_error *bufferRead(ltc_device *, ltc_buffer *buffer, size_t offset,
                      void *data, size_t bytes) {
  if (!inside(buffer, offset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the read ends outside of the buffer");
  if (bytes)
    std::memcpy(data, static_cast<char *>(buffer->data) + offset, bytes);
  return nullptr;
}

// As on a device with memory of its own: every transfer is a copy.
void *bufferHostPointer(ltc_device *, ltc_buffer *) { return nullptr; }

void memory(ltc_device *device, ltc_memory *out, int32_t resetPeak) {
  std::lock_guard lock(device->mutex);
  if (resetPeak)
    device->memory.max_allocated = device->memory.allocated;
  *out = device->memory;
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

ltc_error *programRun(ltc_device *, ltc_program *program,
                      const ltc_operand *operands, size_t count,
                      const int64_t *, size_t symbolCount, ltc_buffer *) {
  const Artifact &artifact = program->artifact;
  if (symbolCount != artifact.symbols)
    return fail(LTC_INVALID_ARGUMENT, "the program has other symbols than " +
                                          std::to_string(symbolCount));
  if (count != artifact.inputs.size() + artifact.results.size())
    return fail(LTC_INVALID_ARGUMENT, "the program takes other operands than " +
                                          std::to_string(count));
  for (size_t i = artifact.inputs.size(); i < count; ++i)
    std::memset(operands[i].buffer->data, 0, operands[i].buffer->bytes);
  return nullptr;
}

constexpr ltc_plugin plugin = {
    sizeof(ltc_plugin), "null",      errorCode,         errorMessage,
    errorSite,          errorFree,   deviceCount,       deviceOpen,
    deviceClose,        target,      bufferAlloc,       bufferFree,
    bufferWrite,        bufferRead,  bufferHostPointer, memory,
    programLoad,        programFree, programRun};

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor) {
  return abiMajor == LTC_ABI_MAJOR ? &plugin : nullptr;
}
