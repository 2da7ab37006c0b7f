//===- engine.h - The engine of one device ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "autopsy/history.h"
#include "cache/disk.h"
#include "cache/memory.h"
#include "engine/launch.h"
#include "ltc/compiler.h"

namespace ltc::runtime {

/// Where an engine has its compiler from.
struct CompilerSource {
  /// Loads it, when the first graph needs it.
  std::function<Result<Compiler *>()> load;
  /// Its identity(), without loading it; empty if that is not to be known.
  std::function<std::string()> identity;
};

class LTC_API DeviceEngine final : public Engine {
public:
  DeviceEngine(std::shared_ptr<Device> device, CompilerSource compiler);
  ~DeviceEngine() override { close(); }

  ExecutablePtr lookup(Hash128 graphHash) override;
  Result<ExecutablePtr> compile(const Graph &graph) override;
  Result<std::vector<BufferPtr>>
  launch(const ExecutablePtr &executable,
         std::vector<LaunchArgument> arguments) override;
  Result<BufferPtr> upload(const TensorType &type, const void *data) override;
  Status download(const BufferPtr &buffer, void *data) override;
  Status synchronize() override;
  Result<MarkerPtr> mark() override;
  size_t inFlight() const override { return state.inFlight; }
  MemoryStats memory() const override;
  void resetPeakMemory() override;
  void clearCache() override { cache.clear(); }

  /// Drains the queue and lets go of the device; then every call that needs it
  /// returns an error. Idempotent; any thread but the queue's.
  void close();

private:
  /// The device, or why it cannot be used.
  Result<std::shared_ptr<Device>> open() const;
  /// What is not in memory: from disk if it is there, else compiled.
  Result<ExecutablePtr> build(const Graph &graph, Hash128 key);
  ExecutablePtr loadFrom(DiskEntry &entry, const Graph &graph,
                         const std::shared_ptr<Device> &device);
  Result<ExecutablePtr> make(DiskEntry *entry, const Graph &graph, Hash128 key,
                             const std::shared_ptr<Device> &device);
  Result<Artifact> runCompiler(const Graph &graph, Hash128 key,
                               const std::string &target);
  /// Checks a buffer from outside and sees through it.
  Result<DeviceBufferPtr> own(const BufferPtr &buffer) const;
  Result<std::vector<ScalarOrBuffer>>
  checkArguments(const Artifact &artifact,
                 const std::vector<LaunchArgument> &arguments) const;
  Result<Memory> allocate(Device &device, size_t bytes);

  mutable std::mutex mutex; ///< guards `device`
  std::shared_ptr<Device> device;
  CompilerSource compilerSource;
  MemoryCache cache;
  DiskCacheState diskState;
  CompileHistory history;
  LaunchState state;
  Queue queue; ///< last: its thread ends before what its work refers to
};

} // namespace ltc::runtime
