//===- device.h - An open device and its memory -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/plugin_loader.h"
#include "ltc/engine.h"

#include <mutex>
#include <span>

namespace ltc::runtime {

/// What every call returns in a child for which isForked().
Error forkedError();

class Device;

/// Owns a piece of device memory.
class LTC_API Memory {
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
  /// The memory itself where the host reaches it, else nullptr.
  void *hostPointer() const;
  /// Copy `bytes` from or to the start.
  Status write(const void *data, size_t bytes) const;
  Status read(void *data, size_t bytes) const;

private:
  std::shared_ptr<Device> device;
  ltc_buffer *handle = nullptr;
};

/// One open device. Shared by all that lives on it, closed by the last. Any
/// thread: what the ABI wants from one thread at a time takes the lock.
class LTC_API Device : public std::enable_shared_from_this<Device> {
public:
  static Result<std::shared_ptr<Device>>
  open(const Driver &driver, uint32_t ordinal, size_t memoryLimit);
  ~Device();

  std::string target() const;
  Result<Memory> allocate(size_t bytes);
  MemoryStats memory(bool resetPeak);
  Result<ltc_program *> load(std::string_view artifact);
  void unload(ltc_program *program);
  /// `symbols`: the values of the program's. `site` becomes the number of the
  /// error site, or -1.
  Status run(ltc_program *program, std::span<const ltc_operand> operands,
             std::span<const int64_t> symbols, ltc_buffer *arena,
             int64_t &site);

private:
  friend class Memory;
  explicit Device(const Driver &driver) : driver(driver) {}

  const Driver &driver;
  ltc_device *handle = nullptr;
  std::mutex mutex; ///< held while the driver reads, writes, loads or runs
};

} // namespace ltc::runtime
