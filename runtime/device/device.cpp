//===- device.cpp - An open device and its memory -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/device.h"

#include "ltc/log.h"

#include <algorithm>
#include <cstdlib>

namespace ltc {

using namespace runtime;

Memory::~Memory() {
  if (handle && !isForked())
    device->api.buffer_free(device->handle, handle);
}

void *Memory::hostPointer() const {
  return handle ? device->hostPointer(handle) : nullptr;
}

Status Memory::read(void *data, size_t bytes) const {
  std::lock_guard lock(device->mutex);
  return device->driver.check(
      device->api.buffer_read(device->handle, nullptr, handle, 0, data, bytes));
}

Fence::~Fence() {
  if (handle && !isForked())
    device->api.fence_free(device->handle, handle);
}

bool Fence::reached(std::chrono::nanoseconds time) {
  int32_t reached = 0;
  if (ltc_error *error = device->api.fence_wait(device->handle, handle,
                                                time.count(), &reached))
    device->api.error_free(error); // wait() tells it
  return reached;
}

std::optional<Fault> Fence::wait() {
  int32_t reached = 0;
  ltc_error *error =
      device->api.fence_wait(device->handle, handle, -1, &reached);
  return error ? std::optional(device->driver.takeFault(error)) : std::nullopt;
}

std::optional<double> Fence::secondsSince(const Fence &start) const {
  if (!device || device != start.device || !device->api.fence_elapsed)
    return std::nullopt;
  double seconds = 0;
  if (ltc_error *error = device->api.fence_elapsed(device->handle, start.handle,
                                                   handle, &seconds)) {
    device->api.error_free(error); // the host's clock answers
    return std::nullopt;
  }
  return seconds;
}

char *HostMemory::reserve(const std::shared_ptr<Device> &wanted, size_t bytes) {
  if (bytes > size || device != wanted) {
    release();
    constexpr size_t alignment = 64;
    size_t rounded =
        (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    const ltc_plugin &api = wanted->api;
    if (!api.host_alloc)
      data = std::aligned_alloc(alignment, rounded);
    else if (ltc_error *error = api.host_alloc(wanted->handle, rounded, &data))
      api.error_free(error);
    if (data) {
      device = wanted;
      size = rounded;
    }
  }
  return static_cast<char *>(data);
}

void HostMemory::release() {
  if (data && device->api.host_free && !isForked())
    device->api.host_free(device->handle, data);
  else if (data && !device->api.host_free)
    std::free(data);
  data = nullptr;
  size = 0;
  device.reset();
}

Result<std::shared_ptr<Device>>
Device::open(const Driver &driver, uint32_t ordinal, const Options &options) {
  std::shared_ptr<Device> device(new Device(driver, ordinal));
  std::vector<ltc_property> given;
  for (const auto &[name, value] : options)
    given.push_back({name.c_str(), value.c_str()});
  if (ltc_error *error = driver.api->device_open(ordinal, given.data(),
                                                 given.size(), &device->handle))
    return driver.take(error);
  if (device->target().empty())
    return Error{ErrorCode::DeviceFailed,
                 Stage::Execute,
                 "cannot use the driver " + driver.path +
                     ": its device has no property target, which says what "
                     "code it runs",
                 "",
                 {},
                 ""};
  if (device->partForm() && !driver.api->part_compile)
    return Error{ErrorCode::DeviceFailed,
                 Stage::Execute,
                 "cannot use the driver " + driver.path + ": its target " +
                     device->target() +
                     " says that it compiles parts of graphs, and its table "
                     "has no part_compile",
                 "",
                 {},
                 ""};
  if (driver.api->queue_create)
    if (ltc_error *error =
            driver.api->queue_create(device->handle, &device->queue))
      return driver.take(error);
  if (driver.api->trace_start)
    profile::addTraceSource(*device);
  return device;
}

Device::~Device() {
  if (!handle || isForked())
    return;
  if (api.trace_start)
    profile::removeTraceSource(*this);
  if (queue)
    api.queue_free(handle, queue);
  api.device_close(handle);
}

std::string Device::property(std::string_view name) const {
  size_t count = 0;
  const ltc_property *all = api.properties(handle, &count);
  for (size_t i = 0; i < count; ++i)
    if (all[i].name && all[i].value && name == all[i].name)
      return all[i].value;
  return "";
}

DeviceInfo Device::info() const {
  DeviceInfo all;
  all.driver = api.name;
  all.ordinal = ordinal;
  size_t count = 0;
  const ltc_property *properties = api.properties(handle, &count);
  for (size_t i = 0; i < count; ++i)
    if (properties[i].name && properties[i].value)
      all.properties.emplace_back(properties[i].name, properties[i].value);
  if (!api.statistics)
    return all;
  std::vector<ltc_statistic> counts(api.statistics(handle, nullptr, 0));
  count = std::min(api.statistics(handle, counts.data(), counts.size()),
                   counts.size());
  for (size_t i = 0; i < count; ++i)
    all.statistics.emplace_back(counts[i].name, counts[i].value);
  return all;
}

void Device::startTrace() {
  std::lock_guard lock(mutex);
  if (isForked())
    return;
  if (ltc_error *error = api.trace_start(handle))
    log(LogLevel::Warn, Stage::Execute,
        "a profile has nothing of what the device did: " +
            driver.take(error).message);
  else
    isTraced = true;
}

std::vector<profile::DeviceSpan> Device::stopTrace() {
  std::vector<profile::DeviceSpan> spans;
  std::lock_guard lock(mutex);
  if (!std::exchange(isTraced, false) || isForked())
    return spans;
  size_t count = 0;
  int64_t now = 0, before = profile::now();
  const ltc_span *all = api.trace_stop(handle, &count, &now);
  // Half of what the call took is before the device looked at its clock.
  int64_t ahead = now - (before + profile::now()) / 2;
  std::string name = std::string(api.name) + ":" + std::to_string(ordinal);
  for (const ltc_span &span : std::span(all, count))
    spans.push_back({name, span.lane, span.name ? span.name : "",
                     span.start - ahead, span.end - ahead});
  return spans;
}

bool Device::takes(const std::string &call) const {
  std::lock_guard lock(mutex);
  return api.call_taken && api.call_taken(handle, {call.data(), call.size()});
}

bool Device::takesAllCalls() const { return property("calls") == "all"; }

std::optional<LoweredForm> Device::partForm() const {
  std::string all = target();
  std::string_view kind = std::string_view(all).substr(0, all.find(':'));
  if (kind == "linalg")
    return LoweredForm::Text;
  if (kind == "bytecode")
    return LoweredForm::Bytecode;
  if (kind == "graph")
    return LoweredForm::Graph;
  if (kind == "stablehlo")
    return LoweredForm::StableHloPart;
  return std::nullopt;
}

Result<std::string> Device::compilePart(std::string_view part) {
  ltc_bytes code = {};
  if (ltc_error *failed =
          api.part_compile(handle, {part.data(), part.size()}, &code))
    return driver.take(failed);
  std::string made(static_cast<const char *>(code.data), code.size);
  api.part_free(handle, code);
  return made;
}

Result<Memory> Device::allocate(size_t bytes) {
  ltc_buffer *buffer = nullptr;
  if (ltc_error *error = api.buffer_alloc(handle, bytes, &buffer))
    return driver.take(error);
  return Memory(shared_from_this(), buffer);
}

Result<Memory> Device::import(void *data, size_t bytes) {
  if (!api.buffer_import)
    return Error{ErrorCode::Unsupported,
                 Stage::Execute,
                 "the device does not reach the host's memory",
                 "",
                 {},
                 ""};
  ltc_buffer *buffer = nullptr;
  std::lock_guard lock(mutex);
  if (ltc_error *error = api.buffer_import(handle, data, bytes, &buffer))
    return driver.take(error);
  return Memory(shared_from_this(), buffer);
}

Result<Memory> Device::import(const LibraryMemory &there, size_t bytes) {
  if (!api.buffer_import_on)
    return Error{ErrorCode::Unsupported,
                 Stage::Execute,
                 "the device is none of the library's of kernels",
                 "",
                 {},
                 ""};
  ltc_buffer *buffer = nullptr;
  std::lock_guard lock(mutex);
  if (ltc_error *error = api.buffer_import_on(handle, there.type, there.number,
                                              there.data, bytes, &buffer))
    return driver.take(error);
  return Memory(shared_from_this(), buffer);
}

MemoryStats Device::memory(bool resetPeak) {
  ltc_memory stats = {};
  stats.struct_size = sizeof(stats);
  api.memory(handle, &stats, resetPeak);
  return {stats.allocated, stats.max_allocated, stats.reserved};
}

Result<ltc_program *> Device::load(std::string_view artifact) {
  std::lock_guard lock(mutex);
  ltc_program *program = nullptr;
  if (ltc_error *error = api.program_load(
          handle, {artifact.data(), artifact.size()}, &program))
    return driver.take(error);
  return program;
}

void Device::unload(ltc_program *program) {
  if (isForked())
    return;
  std::lock_guard lock(mutex);
  api.program_free(handle, program);
}

std::optional<Fault> Device::run(ltc_program *program,
                                 const ltc_launch &launch) {
  std::lock_guard lock(mutex);
  if (ltc_error *error = api.program_run(handle, queue, program, &launch))
    return driver.takeFault(error);
  return std::nullopt;
}

Status Device::write(ltc_buffer *buffer, size_t offset, const void *data,
                     size_t bytes) {
  std::lock_guard lock(mutex);
  return driver.check(
      api.buffer_write(handle, queue, buffer, offset, {data, bytes}));
}

Status Device::read(ltc_buffer *buffer, size_t offset, void *data,
                    size_t bytes) {
  std::lock_guard lock(mutex);
  return driver.check(
      api.buffer_read(handle, queue, buffer, offset, data, bytes));
}

Status Device::copyFrom(ltc_buffer *to, const Device &other, ltc_buffer *from,
                        size_t bytes) {
  if (this == &other) {
    std::lock_guard lock(mutex);
    return driver.check(api.buffer_copy(handle, queue, to, 0, from, 0, bytes));
  }
  std::scoped_lock lock(mutex, other.mutex);
  return driver.check(api.buffer_copy_between(handle, queue, to, 0,
                                              other.handle, from, 0, bytes));
}

Result<Fence> Device::record() {
  std::lock_guard lock(mutex);
  ltc_fence *fence = nullptr;
  if (ltc_error *error = api.fence_record(handle, queue, &fence))
    return driver.take(error);
  return Fence(shared_from_this(), fence);
}

Status Device::resume() {
  std::lock_guard lock(mutex);
  return driver.check(api.queue_resume(handle, queue));
}

} // namespace ltc
