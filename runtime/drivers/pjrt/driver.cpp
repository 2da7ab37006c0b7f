//===- driver.cpp - A device behind PJRT's C interface -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LTC_DEVICE=pjrt:/path/plugin.so?option=value: parts of graphs are StableHLO,
// which the plugin compiles and runs. docs/pjrt.md.
//
//===----------------------------------------------------------------------===//
#include "drivers/worker_table.h"
#include "pjrt_program.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

using namespace ltc::drivers;
using namespace ltc::pjrt;

struct ltc_program {
  Program program;
};

struct ltc_device : WorkerDevice {
  Place place;
  std::string target, description, limitText;
  std::vector<ltc_property> properties;
  size_t limit = SIZE_MAX;
  std::mutex counts;
  size_t allocated = 0, maxAllocated = 0;
  std::atomic<int64_t> launches = 0, copies = 0;
  Traffic traffic;
};

namespace {

/// The devices of all plugins that were asked for, numbered through.
class Plugins {
public:
  struct Range {
    Client *client;
    uint32_t first;
  };
  Outcome add(const std::string &argument, uint32_t &first, uint32_t &count) {
    auto client = Client::of(argument);
    if (Fault *fault = std::get_if<Fault>(&client))
      return std::move(*fault);
    std::lock_guard lock(mutex);
    Client *added = std::get<0>(client);
    count = uint32_t(added->devices());
    for (const Range &known : ranges)
      if (known.client == added) {
        first = known.first;
        return std::nullopt;
      }
    first = end;
    ranges.push_back({added, first});
    end += count;
    return std::nullopt;
  }
  uint32_t size() {
    std::lock_guard lock(mutex);
    return end;
  }
  bool find(uint32_t ordinal, DeviceRef &device) {
    std::lock_guard lock(mutex);
    for (const Range &known : ranges)
      if (ordinal >= known.first &&
          ordinal - known.first < known.client->devices()) {
        device = {known.client, ordinal - known.first};
        return true;
      }
    return false;
  }

private:
  std::mutex mutex;
  std::vector<Range> ranges;
  uint32_t end = 0;
};

Plugins &plugins() {
  static auto *all = new Plugins;
  return *all;
}

ltc_error *devicesNamed(const char *argument, uint32_t *first,
                        uint32_t *count) {
  return own(plugins().add(argument, *first, *count));
}

ltc_error *deviceCount(uint32_t *count) {
  *count = plugins().size();
  if (*count)
    return nullptr;
  return fail(LTC_INVALID_ARGUMENT,
              "the driver pjrt needs a plugin: LTC_DEVICE=pjrt:/path/to/"
              "plugin.so, a library that exports GetPjrtApi");
}

ltc_error *takeOption(ltc_device &made, const ltc_property &option) {
  std::string_view name = option.name, value = option.value;
  size_t number = 0;
  bool isCount = isNumber(value, number);
  if (name == "memory_limit") {
    made.limit = number;
    made.limitText = value;
    return isCount ? nullptr
                   : fail(LTC_INVALID_ARGUMENT,
                          "memory_limit is a number of bytes");
  }
  if (name == "executables") {
    made.place.code.limit(number);
    return isCount && number > 0
               ? nullptr
               : fail(LTC_INVALID_ARGUMENT,
                      "executables is how many are kept, at least 1");
  }
  return fail(LTC_INVALID_ARGUMENT,
              "the driver pjrt has no option " + std::string(name) +
                  ": its options are memory_limit and executables; those of "
                  "a plugin stand behind its path, pjrt:PATH?" +
                  std::string(name) + "=" + std::string(value));
}

ltc_error *deviceOpen(uint32_t ordinal, const ltc_property *options,
                      size_t optionCount, ltc_device **device) {
  auto made = std::make_unique<ltc_device>();
  for (size_t i = 0; i < optionCount; ++i)
    if (ltc_error *error = takeOption(*made, options[i]))
      return error;
  DeviceRef &found = made->place.device;
  if (!plugins().find(ordinal, found))
    return fail(LTC_INVALID_ARGUMENT,
                "PJRT has no device " + std::to_string(ordinal));
  made->place.code.use(found);
  const Client &client = *found.client;
  made->target =
      "stablehlo:" + client.platform() + ":" + client.version() + ":";
  made->description =
      "device " + std::to_string(found.index) + " of " + client.path();
  made->properties = {{"target", made->target.c_str()},
                      {"description", made->description.c_str()},
                      {"name", client.platform().c_str()}};
  if (!made->limitText.empty())
    made->properties.push_back({"memory", made->limitText.c_str()});
  *device = made.release();
  return nullptr;
}

void deviceClose(ltc_device *device) { delete device; }

const ltc_property *properties(ltc_device *device, size_t *count) {
  *count = device->properties.size();
  return device->properties.data();
}

ltc_error *bufferAlloc(ltc_device *device, size_t bytes, ltc_buffer **buffer) {
  std::lock_guard lock(device->counts);
  bool fits =
      bytes <= device->limit - std::min(device->allocated, device->limit);
  auto made = fits ? std::make_unique<ltc_buffer>(bytes, device->place.device,
                                                  device->traffic)
                   : nullptr;
  if (!made || !made->isThere())
    return fail(LTC_OUT_OF_MEMORY,
                "there is no memory for " + std::to_string(bytes) + " bytes");
  device->allocated += bytes;
  device->maxAllocated = std::max(device->maxAllocated, device->allocated);
  *buffer = made.release();
  return nullptr;
}

void bufferFree(ltc_device *device, ltc_buffer *buffer) {
  {
    std::lock_guard lock(device->counts);
    device->allocated -= buffer->bytes();
  }
  delete buffer;
}

void memory(ltc_device *device, ltc_memory *out, int32_t resetPeak) {
  std::lock_guard lock(device->counts);
  if (resetPeak)
    device->maxAllocated = device->allocated;
  out->allocated = out->reserved = device->allocated;
  out->max_allocated = device->maxAllocated;
}

ltc_error *outside() {
  return fail(LTC_INVALID_ARGUMENT, "the range is outside of the buffer");
}

ltc_error *bufferWrite(ltc_device *device, ltc_queue *queue, ltc_buffer *buffer,
                       size_t offset, ltc_bytes data) {
  if (!buffer->has(offset, data.size))
    return outside();
  return submit(
      queue, "write",
      [=] {
        ++device->copies;
        std::lock_guard lock(device->place.memory);
        return buffer->write(offset, data.data, data.size);
      },
      false);
}

ltc_error *bufferRead(ltc_device *device, ltc_queue *queue, ltc_buffer *buffer,
                      size_t offset, void *data, size_t bytes) {
  if (!buffer->has(offset, bytes))
    return outside();
  return submit(
      queue, "read",
      [=] {
        ++device->copies;
        std::lock_guard lock(device->place.memory);
        return buffer->read(offset, data, bytes);
      },
      false);
}

ltc_error *bufferCopy(ltc_device *device, ltc_queue *queue, ltc_buffer *to,
                      size_t toOffset, ltc_buffer *from, size_t fromOffset,
                      size_t bytes) {
  if (!to->has(toOffset, bytes) || !from->has(fromOffset, bytes))
    return outside();
  return submit(
      queue, "copy",
      [=] {
        ++device->copies;
        std::lock_guard lock(device->place.memory);
        return to->copy(toOffset, *from, fromOffset, bytes);
      },
      false);
}

ltc_error *bufferCopyBetween(ltc_device *device, ltc_queue *queue,
                             ltc_buffer *to, size_t toOffset,
                             ltc_device *fromDevice, ltc_buffer *from,
                             size_t fromOffset, size_t bytes) {
  if (device == fromDevice)
    return bufferCopy(device, queue, to, toOffset, from, fromOffset, bytes);
  if (!to->has(toOffset, bytes) || !from->has(fromOffset, bytes))
    return outside();
  return submit(
      queue, "copy from a device",
      [=] {
        ++device->copies;
        std::scoped_lock lock(device->place.memory, fromDevice->place.memory);
        return to->copy(toOffset, *from, fromOffset, bytes);
      },
      false);
}

ltc_error *programLoad(ltc_device *device, ltc_bytes artifact,
                       ltc_program **program) {
  auto made = std::make_unique<ltc_program>();
  if (Outcome outcome = made->program.load(device->place, artifact))
    return own(std::move(outcome));
  *program = made.release();
  return nullptr;
}

void programFree(ltc_device *, ltc_program *program) { delete program; }

ltc_error *programRun(ltc_device *device, ltc_queue *queue,
                      ltc_program *program, const ltc_launch *launch) {
  if (Outcome outcome = program->program.check(*launch))
    return own(std::move(outcome));
  return submit(
      queue, "program",
      [device, run = Run(program->program, *launch)] {
        ++device->launches;
        return run(device->place);
      },
      true);
}

/// What has no form in StableHLO is no part; what the plugin does not compile
/// is refused there.
int32_t callTaken(ltc_device *, ltc_bytes) { return 1; }

ltc_error *partCompile(ltc_device *device, ltc_bytes part, ltc_bytes *code) {
  std::string_view module(static_cast<const char *>(part.data), part.size);
  ExecutablePtr made;
  if (Outcome outcome = device->place.code.load(module, made)) {
    // Plugins also say "internal" of what they lack.
    bool isRefused = outcome->code == LTC_INVALID_ARGUMENT ||
                     outcome->code == LTC_UNSUPPORTED ||
                     outcome->code == LTC_INTERNAL;
    return fail(isRefused ? LTC_UNSUPPORTED : outcome->code, outcome->message);
  }
  char *copy = static_cast<char *>(std::malloc(module.size() + 1));
  std::ranges::copy(module, copy);
  *code = {copy, module.size()};
  return nullptr;
}

void partFree(ltc_device *, ltc_bytes code) {
  std::free(const_cast<void *>(code.data));
}

size_t statistics(ltc_device *device, ltc_statistic *out, size_t capacity) {
  const ltc_statistic all[] = {{"launches", device->launches},
                               {"copies", device->copies},
                               {"uploaded_bytes", device->traffic.uploaded},
                               {"downloaded_bytes", device->traffic.downloaded},
                               {"copied_bytes", device->traffic.copied},
                               {"compiles", device->place.code.compiles()},
                               {"evictions", device->place.code.evictions()}};
  std::copy_n(all, std::min(capacity, std::size(all)), out);
  return std::size(all);
}

constexpr ltc_plugin plugin = [] {
  ltc_plugin all = workerTable<ltc_device>("pjrt");
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
  all.statistics = statistics;
  all.part_compile = partCompile;
  all.part_free = partFree;
  all.devices_named = devicesNamed;
  all.buffer_copy_between = bufferCopyBetween;
  return all;
}();

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor, const ltc_host *) {
  return abiMajor == LTC_ABI_MAJOR ? &plugin : nullptr;
}
