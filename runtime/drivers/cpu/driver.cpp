//===- driver.cpp - The CPU behind plugin.h ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/settings.h"
#include "pool.h"
#include "program.h"

using namespace ltc;
using namespace ltc::cpu;

struct ltc_error {
  ltc_error_code code;
  std::string message;
  int64_t site = -1;
};

struct ltc_device {
  ltc_device(const ltc_host &host, Target machine, std::string target,
             size_t memoryLimit)
      : host(host), machine(std::move(machine)), target(std::move(target)),
        pool(memoryLimit), memoryLimit(memoryLimit) {}

  const ltc_host &host;
  const Target machine;
  const std::string target; ///< what code is made for
  Pool pool;
  const size_t memoryLimit;
};

struct ltc_buffer {
  Pool::Block block;
  size_t bytes; ///< as asked for
};

struct ltc_program {
  std::unique_ptr<Program> program;
};

namespace {

ltc_error *fail(ltc_error_code code, std::string message, int64_t site = -1) {
  return new ltc_error{code, std::move(message), site};
}

ltc_error *fail(const Error &error) {
  return fail(ltc_error_code(error.code) + 1, error.message);
}

ltc_error_code errorCode(const ltc_error *error) { return error->code; }
const char *errorMessage(const ltc_error *error) {
  return error->message.c_str();
}
int64_t errorSite(const ltc_error *error) { return error->site; }
void errorFree(ltc_error *error) { delete error; }

ltc_error *deviceCount(uint32_t *count) {
  *count = uint32_t(std::max<int64_t>(settings().cpu_devices, 1));
  return nullptr;
}

ltc_error *deviceOpen(uint32_t ordinal, const ltc_host *host,
                      size_t memoryLimit, ltc_device **device) {
  uint32_t count = 0;
  deviceCount(&count);
  if (ordinal >= count)
    return fail(LTC_INVALID_ARGUMENT,
                "there is no CPU device " + std::to_string(ordinal));
  if (!host || host->struct_size < sizeof(ltc_host))
    return fail(LTC_INVALID_ARGUMENT, "the host's table is too small");
  Target machine = hostTarget();
  Result<Target> target = targetNamed(settings().cpu_target, machine);
  if (!target)
    return fail(target.error());
  if (Status status = checkTarget(target->str(), machine); !status)
    return fail(status.error());
  *device = new ltc_device(*host, machine, target->str(), memoryLimit);
  return nullptr;
}

void deviceClose(ltc_device *device) { delete device; }

const char *target(ltc_device *device) { return device->target.c_str(); }

ltc_error *outOfMemory(ltc_device *device, size_t bytes) {
  ltc_memory memory = device->pool.memory(false);
  std::string message = "out of memory: cannot allocate " +
                        std::to_string(bytes) + " bytes while " +
                        std::to_string(memory.allocated) + " are in use";
  if (device->memoryLimit)
    message +=
        " and LTC_MEMORY_LIMIT_BYTES is " + std::to_string(device->memoryLimit);
  return fail(LTC_OUT_OF_MEMORY, message);
}

ltc_error *bufferAlloc(ltc_device *device, size_t bytes, ltc_buffer **buffer) {
  Pool::Block block = device->pool.allocate(bytes);
  if (!block.data)
    return outOfMemory(device, bytes);
  *buffer = new ltc_buffer{block, bytes};
  return nullptr;
}

void bufferFree(ltc_device *device, ltc_buffer *buffer) {
  device->pool.free(buffer->block);
  delete buffer;
}

bool inside(const ltc_buffer *buffer, size_t offset, size_t bytes) {
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

ltc_error *bufferWrite(ltc_device *, ltc_buffer *buffer, size_t offset,
                       ltc_bytes data) {
  if (!inside(buffer, offset, data.size))
    return fail(LTC_INVALID_ARGUMENT, "the write ends outside of the buffer");
  auto *to = static_cast<char *>(buffer->block.data) + offset;
  if (data.data)
    std::memcpy(to, data.data, data.size);
  else if (data.size == buffer->bytes)
    Pool::clear(buffer->block);
  else
    std::memset(to, 0, data.size);
  return nullptr;
}

ltc_error *bufferRead(ltc_device *, ltc_buffer *buffer, size_t offset,
                      void *data, size_t bytes) {
  if (!inside(buffer, offset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the read ends outside of the buffer");
  if (bytes)
    std::memcpy(data, static_cast<char *>(buffer->block.data) + offset, bytes);
  return nullptr;
}

void *bufferHostPointer(ltc_device *, ltc_buffer *buffer) {
  return buffer->block.data;
}

void memory(ltc_device *device, ltc_memory *out, int32_t resetPeak) {
  *out = device->pool.memory(resetPeak);
}

ltc_error *programLoad(ltc_device *device, ltc_bytes artifact,
                       ltc_program **program) {
  auto loaded =
      Program::load({static_cast<const char *>(artifact.data), artifact.size},
                    device->machine, device->host);
  if (!loaded)
    return fail(loaded.error());
  *program = new ltc_program{std::move(*loaded)};
  return nullptr;
}

void programFree(ltc_device *, ltc_program *program) { delete program; }

OperandMemory memoryOf(const ltc_buffer *buffer) {
  return buffer ? OperandMemory{buffer->block.data, buffer->bytes}
                : OperandMemory();
}

ltc_error *programRun(ltc_device *device, ltc_program *program,
                      const ltc_operand *operands, size_t count,
                      const int64_t *symbols, size_t symbolCount,
                      ltc_buffer *arena) {
  std::vector<OperandMemory> memory(count);
  for (size_t i = 0; i < count; ++i)
    memory[i] = memoryOf(operands[i].buffer);
  Program &loaded = *program->program;
  std::span<const ltc_operand> all(operands, count);
  if (Status status = loaded.choose({symbols, symbolCount}); !status)
    return fail(status.error());
  if (Status status = loaded.check(all, memory, memoryOf(arena)); !status)
    return fail(status.error());
  Run run(device->host, loaded.calls, loaded.siteWords);
  loaded.run(run, all, memory, memoryOf(arena));
  return run.code == LTC_OK ? nullptr : fail(run.code, run.message, run.site);
}

constexpr ltc_plugin plugin = {
    sizeof(ltc_plugin), "cpu",       errorCode,         errorMessage,
    errorSite,          errorFree,   deviceCount,       deviceOpen,
    deviceClose,        target,      bufferAlloc,       bufferFree,
    bufferWrite,        bufferRead,  bufferHostPointer, memory,
    programLoad,        programFree, programRun};

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor) {
  return abiMajor == LTC_ABI_MAJOR ? &plugin : nullptr;
}
