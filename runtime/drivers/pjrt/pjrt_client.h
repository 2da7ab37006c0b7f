//===- pjrt_client.h - A plugin's devices, arrays and code -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "pjrt_api.h"
#include "pjrt_signature.h"

#include <atomic>
#include <span>

namespace ltc::pjrt {

class Client;

/// One of a client's devices.
struct DeviceRef {
  Client *client = nullptr;
  size_t index = 0;

  bool operator==(const DeviceRef &) const = default;
};

/// A dense, row-major tensor on a device; its values never change. Any thread.
class Array {
public:
  Array(const Api &api, void *handle, TensorType type)
      : api(api), handle(handle), what(std::move(type)) {}
  Array(const Array &) = delete;
  ~Array();

  const TensorType &type() const { return what; }
  void *get() const { return handle; }
  /// Writes all of it to `data`.
  Outcome download(void *data) const;

private:
  const Api &api;
  void *const handle;
  const TensorType what;
};
using ArrayPtr = std::shared_ptr<const Array>;

/// Loaded code of one device. Any thread.
class Executable {
public:
  Executable(const Api &api, void *handle, Signature signature);
  Executable(const Executable &) = delete;
  ~Executable();

  const Signature &signature() const { return what; }
  /// Done when it returns; without results if it failed.
  Outcome run(std::span<const ArrayPtr> inputs,
              std::vector<ArrayPtr> &results) const;
  /// Of two the one that was made or run later has the greater.
  uint64_t lastUse() const { return used; }

private:
  const Api &api;
  void *const handle;
  const Signature what;
  mutable std::atomic<uint64_t> used;
};
using ExecutablePtr = std::shared_ptr<const Executable>;

/// One for each plugin and its options, for the life of the process: plugins of
/// GPUs take all of their memory once. Any thread.
class Client {
public:
  /// `argument` is what stands behind the driver's name in LTC_DEVICE.
  static std::variant<Client *, Fault> of(const std::string &argument);
  ~Client(); ///< of one that did not start

  size_t devices() const { return handles.size(); }
  const std::string &platform() const { return platformName; }
  /// What code depends on besides the platform.
  const std::string &version() const { return versionText; }
  const std::string &path() const { return libraryPath; }

  Outcome upload(size_t device, const TensorType &type, const void *data,
                 ArrayPtr &array);
  /// An array of another of its devices. Unsupported where the plugin has no
  /// such copies.
  Outcome copy(const Array &from, size_t device, ArrayPtr &array);
  /// Compiles StableHLO.
  Outcome compile(size_t device, std::string_view module, ExecutablePtr &made);

private:
  Outcome start(std::string_view options);
  Outcome findDevices();

  std::unique_ptr<Api> api;
  std::string libraryPath, platformName, versionText;
  void *client = nullptr;
  std::vector<void *> handles; ///< of devices
  std::vector<int64_t> ids;    ///< theirs among all hosts' devices
};

} // namespace ltc::pjrt
