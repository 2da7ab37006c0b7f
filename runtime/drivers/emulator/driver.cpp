//===- driver.cpp - A device with memory of its own -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a real accelerator is to the host: its memory has no address there, a
// thread of its own does what is queued, and errors come later. Behind it the
// driver cpu, through the same door, keeps the memory and runs the code.
//
//===----------------------------------------------------------------------===//
#include "drivers/worker_table.h"
#include "simt.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

using namespace ltc::drivers;
using namespace ltc::emulator;

struct ltc_device : WorkerDevice {
  ltc_device *cpu = nullptr; ///< that of the driver behind it
  std::mutex mutex;          ///< held in its calls that take one thread
  std::vector<ltc_property> properties;
  std::string target;
  std::string memory;             ///< its limit, or empty
  std::vector<std::string> taken; ///< names of library calls
  bool takesAll = false;
  std::atomic<int64_t> launches = 0, copies = 0;
};

namespace {

const ltc_plugin *cpu = nullptr;

/// The content of an error of the driver behind, which is freed.
Outcome take(ltc_error *error) {
  if (!error)
    return std::nullopt;
  ltc_error_info info = {};
  info.struct_size = sizeof(info);
  cpu->error_read(error, &info);
  Fault fault{info.code, info.message, info.site};
  cpu->error_free(error);
  return fault;
}

/// The same as an error of this driver's.
ltc_error *passOn(ltc_error *error) { return own(take(error)); }

ltc_error *deviceCount(uint32_t *count) {
  return passOn(cpu->device_count(count));
}

/// `passedOn` are options for the CPU's driver.
ltc_error *takeOption(ltc_device &made, const ltc_property &option,
                      std::vector<ltc_property> &passedOn) {
  std::string_view name = option.name, value = option.value;
  if (name == "memory_limit") {
    passedOn.push_back(option);
    made.memory = option.value;
  } else if (name == "delay_us") {
    int64_t delay = 0;
    if (!isNumber(value, delay))
      return fail(LTC_INVALID_ARGUMENT, "delay_us is a number");
    made.delay = std::chrono::microseconds(delay);
  } else if (name == "target") {
    if (value != "cpu" && value != "nvptx")
      return fail(LTC_INVALID_ARGUMENT,
                  "the emulator's target is cpu or nvptx, not " +
                      std::string(value));
    if (value == "nvptx")
      passedOn.push_back({"kind", "nvptx_emulated"});
  } else if (name == "thread_order") {
    uint32_t seed = 0;
    if (!isNumber(value, seed))
      return fail(LTC_INVALID_ARGUMENT, "thread_order is a number");
    setThreadOrder(seed);
  } else if (name == "races") {
    findRaces(value == "report");
    if (value != "report" && value != "ignore")
      return fail(LTC_INVALID_ARGUMENT, "races is report or ignore");
  } else if (name == "takes" && value == "all") {
    made.takesAll = true;
  } else if (name == "takes") {
    for (size_t plus; !value.empty();
         value.remove_prefix(std::min(plus + 1, value.size()))) {
      plus = std::min(value.find('+'), value.size());
      made.taken.emplace_back(value.substr(0, plus));
    }
  } else {
    return fail(LTC_INVALID_ARGUMENT,
                "the emulator has no option " + std::string(name) +
                    ": its options are memory_limit, delay_us (before each "
                    "piece of work), target (cpu, or nvptx: a GPU's kernels, "
                    "with a fiber for each thread), thread_order (a seed "
                    "that permutes those), races (report: those of "
                    "threads and blocks, and accesses out of bounds) and takes "
                    "(library calls that it "
                    "does itself, with + between, or all)");
  }
  return nullptr;
}

ltc_error *deviceOpen(uint32_t ordinal, const ltc_property *options,
                      size_t optionCount, ltc_device **device) {
  auto made = std::make_unique<ltc_device>();
  std::vector<ltc_property> passedOn;
  for (size_t i = 0; i < optionCount; ++i)
    if (ltc_error *error = takeOption(*made, options[i], passedOn))
      return error;
  if (ltc_error *error = passOn(cpu->device_open(ordinal, passedOn.data(),
                                                 passedOn.size(), &made->cpu)))
    return error;
  size_t count = 0;
  const ltc_property *all = cpu->properties(made->cpu, &count);
  for (size_t i = 0; i < count; ++i)
    if (std::string_view(all[i].name) == "target")
      made->target = all[i].value;
  made->properties = {
      {"target", made->target.c_str()},
      {"description", "a device of its own thread and memory, on this CPU"},
      {"processors", "1"}};
  if (!made->memory.empty())
    made->properties.push_back({"memory", made->memory.c_str()});
  *device = made.release();
  return nullptr;
}

void deviceClose(ltc_device *device) {
  cpu->device_close(device->cpu);
  delete device;
}

const ltc_property *properties(ltc_device *device, size_t *count) {
  *count = device->properties.size();
  return device->properties.data();
}

ltc_error *bufferAlloc(ltc_device *device, size_t bytes, ltc_buffer **buffer) {
  return passOn(cpu->buffer_alloc(device->cpu, bytes, buffer));
}

void bufferFree(ltc_device *device, ltc_buffer *buffer) {
  cpu->buffer_free(device->cpu, buffer);
}

/// What is outside of a buffer is refused at once: a transfer of nothing asks.
ltc_error *checkRange(ltc_device *device, ltc_buffer *buffer, size_t offset,
                      size_t bytes) {
  size_t end;
  char nothing;
  if (__builtin_add_overflow(offset, bytes, &end))
    end = SIZE_MAX;
  std::lock_guard lock(device->mutex);
  return passOn(
      cpu->buffer_read(device->cpu, nullptr, buffer, end, &nothing, 0));
}

ltc_error *bufferWrite(ltc_device *device, ltc_queue *queue, ltc_buffer *buffer,
                       size_t offset, ltc_bytes data) {
  if (ltc_error *error = checkRange(device, buffer, offset, data.size))
    return error;
  return submit(
      queue, "write",
      [=] {
        ++device->copies;
        std::lock_guard lock(device->mutex);
        return take(
            cpu->buffer_write(device->cpu, nullptr, buffer, offset, data));
      },
      false);
}

ltc_error *bufferRead(ltc_device *device, ltc_queue *queue, ltc_buffer *buffer,
                      size_t offset, void *data, size_t bytes) {
  if (ltc_error *error = checkRange(device, buffer, offset, bytes))
    return error;
  return submit(
      queue, "read",
      [=] {
        ++device->copies;
        std::lock_guard lock(device->mutex);
        return take(cpu->buffer_read(device->cpu, nullptr, buffer, offset, data,
                                     bytes));
      },
      false);
}

ltc_error *bufferCopy(ltc_device *device, ltc_queue *queue, ltc_buffer *to,
                      size_t toOffset, ltc_buffer *from, size_t fromOffset,
                      size_t bytes) {
  for (auto [buffer, offset] : {std::pair(to, toOffset), {from, fromOffset}})
    if (ltc_error *error = checkRange(device, buffer, offset, bytes))
      return error;
  return submit(
      queue, "copy",
      [=] {
        ++device->copies;
        std::vector<char> between(bytes);
        std::lock_guard lock(device->mutex);
        if (Outcome outcome = take(cpu->buffer_read(
                device->cpu, nullptr, from, fromOffset, between.data(), bytes)))
          return outcome;
        return take(cpu->buffer_write(device->cpu, nullptr, to, toOffset,
                                      {between.data(), bytes}));
      },
      false);
}

ltc_error *bufferCopyBetween(ltc_device *device, ltc_queue *queue,
                             ltc_buffer *to, size_t toOffset,
                             ltc_device *fromDevice, ltc_buffer *from,
                             size_t fromOffset, size_t bytes) {
  if (device == fromDevice)
    return bufferCopy(device, queue, to, toOffset, from, fromOffset, bytes);
  if (ltc_error *error = checkRange(device, to, toOffset, bytes))
    return error;
  if (ltc_error *error = checkRange(fromDevice, from, fromOffset, bytes))
    return error;
  return submit(
      queue, "copy from a device",
      [=] {
        ++device->copies;
        std::vector<char> between(bytes);
        std::scoped_lock lock(device->mutex, fromDevice->mutex);
        if (Outcome outcome =
                take(cpu->buffer_read(fromDevice->cpu, nullptr, from,
                                      fromOffset, between.data(), bytes)))
          return outcome;
        return take(cpu->buffer_write(device->cpu, nullptr, to, toOffset,
                                      {between.data(), bytes}));
      },
      false);
}

void memory(ltc_device *device, ltc_memory *out, int32_t resetPeak) {
  cpu->memory(device->cpu, out, resetPeak);
}

ltc_error *programLoad(ltc_device *device, ltc_bytes artifact,
                       ltc_program **program) {
  std::lock_guard lock(device->mutex);
  return passOn(cpu->program_load(device->cpu, artifact, program));
}

void programFree(ltc_device *device, ltc_program *program) {
  std::lock_guard lock(device->mutex);
  cpu->program_free(device->cpu, program);
}

/// A launch with what it borrowed.
struct Launch {
  explicit Launch(const ltc_launch &from)
      : operands(from.operands, from.operands + from.operand_count),
        symbols(from.symbols, from.symbols + from.symbol_count), launch(from) {
    for (ltc_operand &operand : operands) {
      sizes.emplace_back(operand.sizes, operand.sizes + operand.rank);
      operand.sizes = sizes.back().data();
    }
    launch.operands = operands.data();
    launch.symbols = symbols.data();
  }
  Launch(const Launch &) = delete;

  std::vector<ltc_operand> operands;
  std::vector<int64_t> symbols;
  std::vector<std::vector<int64_t>> sizes;
  ltc_launch launch;
};

ltc_error *programRun(ltc_device *device, ltc_queue *queue,
                      ltc_program *program, const ltc_launch *launch) {
  auto own = std::make_shared<Launch>(*launch);
  return submit(
      queue, "program",
      [=] {
        ++device->launches;
        std::lock_guard lock(device->mutex);
        Outcome outcome =
            take(cpu->program_run(device->cpu, nullptr, program, &own->launch));
        if (std::optional<std::string> fault = takeSimtFault())
          return Outcome(Fault{LTC_INTERNAL, *fault});
        return outcome;
      },
      true);
}

int32_t callTaken(ltc_device *device, ltc_bytes call) {
  std::string_view text(static_cast<const char *>(call.data), call.size);
  return device->takesAll ||
         std::ranges::any_of(device->taken, [&](const std::string &name) {
           return text.find("= " + name + "(") != text.npos;
         });
}

ltc_error *hostAlloc(ltc_device *, size_t bytes, void **data) {
  constexpr size_t alignment = 64;
  size_t rounded = std::max<size_t>(bytes + alignment - 1, alignment) /
                   alignment * alignment;
  *data = rounded >= bytes ? std::aligned_alloc(alignment, rounded) : nullptr;
  return *data ? nullptr
               : fail(LTC_OUT_OF_MEMORY,
                      "the host has no " + std::to_string(bytes) + " bytes");
}

void hostFree(ltc_device *, void *data) { std::free(data); }

size_t statistics(ltc_device *device, ltc_statistic *out, size_t capacity) {
  const ltc_statistic all[] = {{"launches", device->launches},
                               {"copies", device->copies}};
  std::copy_n(all, std::min(capacity, std::size(all)), out);
  return std::size(all);
}

constexpr ltc_plugin plugin = [] {
  ltc_plugin all = workerTable<ltc_device>("emulator");
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
  all.buffer_copy = bufferCopy;
  all.host_alloc = hostAlloc;
  all.host_free = hostFree;
  all.statistics = statistics;
  all.buffer_copy_between = bufferCopyBetween;
  return all;
}();

/// The driver cpu, which lies beside this one.
const ltc_plugin *findCpu(const ltc_host *host) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&findCpu), &info))
    return nullptr;
  std::string path = info.dli_fname;
  // Its code may call what simt.cpp defines.
  dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  path = path.substr(0, path.rfind('/') + 1) + "libltc_driver_cpu.so";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto query = library ? reinterpret_cast<decltype(&ltc_plugin_query)>(
                             dlsym(library, "ltc_plugin_query"))
                       : nullptr;
  return query ? query(LTC_ABI_MAJOR, host) : nullptr;
}

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor, const ltc_host *host) {
  if (abiMajor != LTC_ABI_MAJOR)
    return nullptr;
  cpu = findCpu(host);
  return cpu ? &plugin : nullptr;
}
