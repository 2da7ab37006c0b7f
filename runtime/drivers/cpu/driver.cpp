//===- driver.cpp - The CPU behind plugin.h ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/settings.h"
#include "pool.h"
#include "program.h"

#include <charconv>

using namespace ltc;
using namespace ltc::cpu;

struct ltc_error {
  ltc_error_code code;
  std::string message;
  int64_t site = -1;
};

struct ltc_device {
  ltc_device(Target machine, std::string target, size_t memoryLimit)
      : machine(std::move(machine)), target(std::move(target)),
        pool(memoryLimit), memoryLimit(memoryLimit) {}

  const Target machine;
  const std::string target; ///< what code is made for
  const ltc_property properties[2] = {{"target", target.c_str()},
                                      {"calls", "all"}};
  Pool pool;
  const size_t memoryLimit;
};

struct ltc_buffer {
  Pool::Block block;
  size_t bytes; ///< as asked for
  bool isImported = false;
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

const ltc_host *lent = nullptr; ///< at the query

void errorRead(const ltc_error *error, ltc_error_info *info) {
  info->code = error->code;
  info->message = error->message.c_str();
  info->site = error->site;
}
void errorFree(ltc_error *error) { delete error; }

ltc_error *deviceCount(uint32_t *count) {
  *count = uint32_t(std::max<int64_t>(settings().cpu_devices, 1));
  return nullptr;
}

struct Options {
  size_t memoryLimit = 0;
  std::string kind = "cpu"; ///< of the targets whose code it runs
};

Result<Options> readOptions(std::span<const ltc_property> options) {
  Options read;
  for (const ltc_property &option : options) {
    std::string_view name = option.name, value = option.value;
    if (name == "kind") { // of a driver that has this one behind it
      read.kind = value;
      continue;
    }
    auto [end, failure] = std::from_chars(
        value.data(), value.data() + value.size(), read.memoryLimit);
    if (name != "memory_limit")
      return Error{ErrorCode::InvalidArgument,
                   Stage::Execute,
                   "the driver cpu has no option " + std::string(name),
                   "",
                   {},
                   "its option is memory_limit, in bytes"};
    if (failure != std::errc() || end != value.data() + value.size())
      return Error{ErrorCode::InvalidArgument,
                   Stage::Execute,
                   "memory_limit takes a number of bytes, not '" +
                       std::string(value) + "'",
                   "",
                   {},
                   ""};
  }
  return read;
}

ltc_error *deviceOpen(uint32_t ordinal, const ltc_property *options,
                      size_t optionCount, ltc_device **device) {
  uint32_t count = 0;
  deviceCount(&count);
  if (ordinal >= count)
    return fail(LTC_INVALID_ARGUMENT,
                "there is no CPU device " + std::to_string(ordinal));
  Result<Options> read = readOptions({options, optionCount});
  if (!read)
    return fail(read.error());
  Target machine = hostTarget();
  machine.kind = read->kind;
  Result<Target> target = targetNamed(settings().cpu_target, machine);
  if (!target)
    return fail(target.error());
  if (Status status = checkTarget(target->str(), machine); !status)
    return fail(status.error());
  *device = new ltc_device(machine, target->str(), read->memoryLimit);
  return nullptr;
}

void deviceClose(ltc_device *device) { delete device; }

const ltc_property *properties(ltc_device *device, size_t *count) {
  *count = std::size(device->properties);
  return device->properties;
}

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
  if (!buffer->isImported)
    device->pool.free(buffer->block);
  delete buffer;
}

bool inside(const ltc_buffer *buffer, size_t offset, size_t bytes) {
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

ltc_error *bufferWrite(ltc_device *, ltc_queue *, ltc_buffer *buffer,
                       size_t offset, ltc_bytes data) {
  if (!inside(buffer, offset, data.size))
    return fail(LTC_INVALID_ARGUMENT, "the write ends outside of the buffer");
  auto *to = static_cast<char *>(buffer->block.data) + offset;
  if (data.data)
    std::memcpy(to, data.data, data.size);
  else if (data.size == buffer->bytes && !buffer->isImported)
    Pool::clear(buffer->block);
  else
    std::memset(to, 0, data.size);
  return nullptr;
}

ltc_error *bufferRead(ltc_device *, ltc_queue *, ltc_buffer *buffer,
                      size_t offset, void *data, size_t bytes) {
  if (!inside(buffer, offset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the read ends outside of the buffer");
  if (bytes)
    std::memcpy(data, static_cast<char *>(buffer->block.data) + offset, bytes);
  return nullptr;
}

ltc_error *bufferCopy(ltc_device *, ltc_queue *, ltc_buffer *to,
                      size_t toOffset, ltc_buffer *from, size_t fromOffset,
                      size_t bytes) {
  if (!inside(to, toOffset, bytes) || !inside(from, fromOffset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the copy ends outside of a buffer");
  if (bytes)
    std::memcpy(static_cast<char *>(to->block.data) + toOffset,
                static_cast<char *>(from->block.data) + fromOffset, bytes);
  return nullptr;
}

ltc_error *bufferImport(ltc_device *, void *data, size_t bytes,
                        ltc_buffer **buffer) {
  // Of any alignment: compiled code and kernels read operands as elements.
  *buffer = new ltc_buffer{{data, bytes}, bytes, true};
  return nullptr;
}

void *bufferHostPointer(ltc_device *, ltc_buffer *buffer) {
  return buffer->block.data;
}

void memory(ltc_device *device, ltc_memory *out, int32_t resetPeak) {
  ltc_memory now = device->pool.memory(resetPeak);
  out->allocated = now.allocated;
  out->max_allocated = now.max_allocated;
  out->reserved = now.reserved;
}

ltc_error *programLoad(ltc_device *device, ltc_bytes artifact,
                       ltc_program **program) {
  Result<Artifact> read = Artifact::deserialize(
      {static_cast<const char *>(artifact.data), artifact.size});
  if (!read)
    return fail(read.error());
  if (Status status = checkTarget(read->target, device->machine); !status)
    return fail(status.error());
  auto loaded = Program::make(std::move(*read), "elf", link, *lent);
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

ltc_error *programRun(ltc_device *, ltc_queue *, ltc_program *program,
                      const ltc_launch *launch) {
  std::span<const ltc_operand> all(launch->operands, launch->operand_count);
  std::vector<OperandMemory> memory(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    memory[i] = memoryOf(all[i].buffer);
  Program &loaded = *program->program;
  if (Status status = loaded.choose({launch->symbols, launch->symbol_count});
      !status)
    return fail(status.error());
  OperandMemory arena = memoryOf(launch->arena);
  if (Status status = loaded.check(all, memory, arena); !status)
    return fail(status.error());
  Run run(*lent, loaded.calls, loaded.steps);
  loaded.run(run, all, memory, arena, launch->first_step, launch->end_step);
  return run.code == LTC_OK ? nullptr : fail(run.code, run.message, run.site);
}

constexpr ltc_plugin plugin = [] {
  ltc_plugin all = {};
  all.struct_size = sizeof(ltc_plugin);
  all.name = "cpu";
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
  all.buffer_host_pointer = bufferHostPointer;
  all.buffer_copy = bufferCopy;
  all.buffer_import = bufferImport;
  return all;
}();

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor, const ltc_host *host) {
  lent = host;
  return abiMajor == LTC_ABI_MAJOR && host->struct_size >= sizeof(ltc_host)
             ? &plugin
             : nullptr;
}
