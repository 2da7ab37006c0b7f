//===- device.h - An open device and its memory -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/plugin_loader.h"
#include "ltc/compiler.h"
#include "ltc/devices.h"
#include "ltc/profile.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <span>

namespace ltc::runtime {

/// What every call returns in a child for which isForked().
Error forkedError();

class Device;

/// What is wrong with a launch, and where.
struct Fault {
  Error error;
  int64_t site = -1;      ///< the number of the error site
  bool isSkipped = false; ///< nothing of it ran, for one before it failed
};

/// Owns a piece of device memory.
class Memory {
public:
  Memory() = default;
  Memory(std::shared_ptr<Device> device, ltc_buffer *handle)
      : device(std::move(device)), handle(handle) {}
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Memory();

  explicit operator bool() const { return handle; }
  ltc_buffer *get() const { return handle; }
  /// Whose it is; only of memory.
  const std::shared_ptr<Device> &home() const { return device; }
  /// The memory itself where the host reaches it, else nullptr.
  void *hostPointer() const;
  /// Copy `bytes` from the start, done on return. Nothing that is queued writes
  /// there.
  Status read(void *data, size_t bytes) const;

private:
  std::shared_ptr<Device> device;
  ltc_buffer *handle = nullptr;
};

/// A place in a device's queue. One thread.
class Fence {
public:
  Fence() = default;
  Fence(std::shared_ptr<Device> device, ltc_fence *handle)
      : device(std::move(device)), handle(handle) {}
  Fence(Fence &&other) noexcept { *this = std::move(other); }
  Fence &operator=(Fence &&other) noexcept {
    std::swap(device, other.device);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Fence();

  explicit operator bool() const { return handle; }
  /// Waits for at most that time; any negative one is no limit.
  bool reached(std::chrono::nanoseconds time);
  /// Waits; then what failed of what was queued since the fence before it.
  std::optional<Fault> wait();
  /// By the device's clock, from a fence of the same device, both reached;
  /// nothing if there is none.
  std::optional<double> secondsSince(const Fence &start) const;

private:
  std::shared_ptr<Device> device;
  ltc_fence *handle = nullptr;
};

/// Memory of the host's that the device copies from and to, where it can,
/// without a copy of its own. Grows; for one thread.
class HostMemory {
public:
  HostMemory() = default;
  HostMemory(const HostMemory &) = delete;
  ~HostMemory() { release(); }

  /// At least `bytes`, of any content and aligned to 64; nullptr without
  /// memory.
  char *reserve(const std::shared_ptr<Device> &device, size_t bytes);
  void release();

private:
  std::shared_ptr<Device> device;
  void *data = nullptr;
  size_t size = 0;
};

/// One open device. Shared by all that lives on it, closed by the last. Any
/// thread: what the ABI wants from one thread at a time takes the lock.
class Device : public std::enable_shared_from_this<Device>,
               private profile::TraceSource {
public:
  using Options = std::vector<std::pair<std::string, std::string>>;
  static Result<std::shared_ptr<Device>>
  open(const Driver &driver, uint32_t ordinal, const Options &options = {});
  ~Device() override;

  std::string_view driverName() const { return api.name; }
  /// What it says of itself; empty if it does not.
  std::string property(std::string_view name) const;
  std::string target() const { return property("target"); }
  DeviceInfo info() const;
  /// Whether launches and copies go on after the calls that queue them.
  bool isAsynchronous() const { return queue; }
  /// Whether it does this library call, or all of them, itself.
  bool takes(const std::string &call) const;
  bool takesAllCalls() const;
  /// How its own compiler is handed parts of a graph; nothing where it has
  /// none.
  std::optional<LoweredForm> partForm() const;
  /// Code for a part; Unsupported if the part is the host's.
  Result<std::string> compilePart(std::string_view part);

  Result<Memory> allocate(size_t bytes);
  /// The host's memory, which stays until the result is gone. Unsupported where
  /// the device does not reach it.
  Result<Memory> import(void *data, size_t bytes);
  /// The same of memory that the library of kernels has on this device.
  Result<Memory> import(const LibraryMemory &there, size_t bytes);
  MemoryStats memory(bool resetPeak);
  Result<ltc_program *> load(std::string_view artifact);
  void unload(ltc_program *program);

  /// Where the host reaches a buffer; nullptr where it cannot.
  void *hostPointer(ltc_buffer *buffer) const {
    return api.buffer_host_pointer ? api.buffer_host_pointer(handle, buffer)
                                   : nullptr;
  }

  // On an asynchronous device these are queued; on any other, done on return.
  std::optional<Fault> run(ltc_program *program, const ltc_launch &launch);
  /// `data` stays until then; nullptr is for zeros.
  Status write(ltc_buffer *buffer, size_t offset, const void *data,
               size_t bytes);
  Status read(ltc_buffer *buffer, size_t offset, void *data, size_t bytes);
  /// From the start of a device's buffer to that of one of this, likewise; only
  /// if copiesFrom() that. Nothing that is queued writes `from`,
  /// which stays until then.
  Status copyFrom(ltc_buffer *to, const Device &other, ltc_buffer *from,
                  size_t bytes);
  bool copiesFrom(const Device &other) const {
    return this == &other ? api.buffer_copy != nullptr
                          : &driver == &other.driver && api.buffer_copy_between;
  }
  /// Only of an asynchronous device: behind all that is queued.
  Result<Fence> record();
  /// The same: what is queued from now on runs whatever failed before.
  Status resume();

private:
  friend class Memory;
  friend class Fence;
  friend class HostMemory;
  void startTrace() override;
  std::vector<profile::DeviceSpan> stopTrace() override;
  Device(const Driver &driver, uint32_t ordinal)
      : driver(driver), api(*driver.api), ordinal(ordinal) {}

  const Driver &driver;
  const ltc_plugin &api;
  const uint32_t ordinal;
  ltc_device *handle = nullptr;
  ltc_queue *queue = nullptr; ///< of an asynchronous device
  bool isTraced = false;      ///< under the mutex
  /// Held in what the ABI wants from one thread at a time.
  mutable std::mutex mutex;
};

} // namespace ltc::runtime
