//===- pjrt_client.h - A plugin's devices, arrays and code -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "pjrt_api.h"
#include "pjrt_signature.h"

#include <mutex>
#include <span>
#include <unordered_map>

namespace ltc::pjrt {

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
  Executable(const Api &api, void *handle, Signature signature)
      : api(api), handle(handle), what(std::move(signature)) {}
  Executable(const Executable &) = delete;
  ~Executable();

  const Signature &signature() const { return what; }
  /// Done when it returns; without results if it failed.
  Outcome run(std::span<const ArrayPtr> inputs,
              std::vector<ArrayPtr> &results) const;

private:
  const Api &api;
  void *const handle;
  const Signature what;
};
using ExecutablePtr = std::shared_ptr<const Executable>;

/// One for each plugin, for the life of the process: plugins of GPUs take all
/// of their memory once. Any thread.
class Client {
public:
  static std::variant<Client *, Fault> of(const std::string &path);
  ~Client(); ///< of one that did not start

  size_t devices() const { return handles.size(); }
  const std::string &platform() const { return platformName; }
  /// What code depends on besides the platform.
  const std::string &version() const { return versionText; }
  const std::string &path() const { return libraryPath; }

  Outcome upload(size_t device, const TensorType &type, const void *data,
                 ArrayPtr &array);
  /// Compiles StableHLO. Equal modules that are loaded are compiled once.
  Outcome compile(size_t device, std::string_view module, ExecutablePtr &made);

private:
  Outcome start();

  std::unique_ptr<Api> api;
  std::string libraryPath, platformName, versionText;
  void *client = nullptr;
  std::vector<void *> handles; ///< of devices
  std::vector<int64_t> ids;    ///< theirs among all hosts' devices
  std::mutex mutex;
  /// By device and module.
  std::unordered_map<std::string, std::weak_ptr<const Executable>> loaded;
  /// Compiled to learn whether it can be, and soon loaded; a few.
  std::vector<ExecutablePtr> recent;
};

} // namespace ltc::pjrt
