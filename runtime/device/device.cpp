//===- device.cpp - An open device and its memory ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/device.h"

#include "device/host.h"

namespace ltc {

using namespace runtime;

Memory::~Memory() {
  if (handle && !isForked())
    device->driver.api->buffer_free(device->handle, handle);
}

void *Memory::hostPointer() const {
  return handle
             ? device->driver.api->buffer_host_pointer(device->handle, handle)
             : nullptr;
}

Status Memory::write(const void *data, size_t bytes) const {
  std::lock_guard lock(device->mutex);
  return device->driver.check(device->driver.api->buffer_write(
      device->handle, handle, 0, {data, bytes}));
}

Status Memory::read(void *data, size_t bytes) const {
  std::lock_guard lock(device->mutex);
  return device->driver.check(
      device->driver.api->buffer_read(device->handle, handle, 0, data, bytes));
}

Result<std::shared_ptr<Device>>
Device::open(const Driver &driver, uint32_t ordinal, size_t memoryLimit) {
  std::shared_ptr<Device> device(new Device(driver));
  if (ltc_error *error = driver.api->device_open(ordinal, &hostTable(),
                                                 memoryLimit, &device->handle))
    return driver.take(error);
  return device;
}

Device::~Device() {
  if (handle && !isForked())
    driver.api->device_close(handle);
}

std::string Device::target() const {
  const char *text = driver.api->target(handle);
  return text ? text : "";
}

Result<Memory> Device::allocate(size_t bytes) {
  ltc_buffer *buffer = nullptr;
  if (ltc_error *error = driver.api->buffer_alloc(handle, bytes, &buffer))
    return driver.take(error);
  return Memory(shared_from_this(), buffer);
}

MemoryStats Device::memory(bool resetPeak) {
  ltc_memory stats = {};
  driver.api->memory(handle, &stats, resetPeak);
  return {stats.allocated, stats.max_allocated, stats.reserved};
}

Result<ltc_program *> Device::load(std::string_view artifact) {
  std::lock_guard lock(mutex);
  ltc_program *program = nullptr;
  if (ltc_error *error = driver.api->program_load(
          handle, {artifact.data(), artifact.size()}, &program))
    return driver.take(error);
  return program;
}

void Device::unload(ltc_program *program) {
  if (isForked())
    return;
  std::lock_guard lock(mutex);
  driver.api->program_free(handle, program);
}

Status Device::run(ltc_program *program, std::span<const ltc_operand> operands,
                   std::span<const int64_t> symbols, ltc_buffer *arena,
                   int64_t &site) {
  std::lock_guard lock(mutex);
  site = -1;
  ltc_error *error =
      driver.api->program_run(handle, program, operands.data(), operands.size(),
                              symbols.data(), symbols.size(), arena);
  if (!error)
    return {};
  site = driver.api->error_site(error);
  return driver.take(error);
}

} // namespace ltc
