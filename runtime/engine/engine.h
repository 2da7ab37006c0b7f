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
#include "dynamic/family.h"
#include "engine/background_compiles.h"
#include "engine/deferrals.h"
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

/// Loads the compiler at the first compile of the process; a failure is tried
/// again.
Result<Compiler *> processCompiler();

/// What a caller has given that the device cannot run.
Error invalid(std::string message);

class DeviceEngine final : public Engine {
public:
  DeviceEngine(std::shared_ptr<Device> device, CompilerSource compiler);
  ~DeviceEngine() override { close(); }

  ExecutablePtr lookup(Hash128 graphHash) override;
  Result<ExecutablePtr> compile(const Graph &graph,
                                std::span<const DimMark> marks = {},
                                bool mayDefer = false) override;
  bool defersAgain(Hash128 graphHash) override;
  void noteDeferred(Hash128 graphHash) override { deferrals.note(graphHash); }
  std::vector<DeferredGraphs> deferred() const override {
    return deferrals.list();
  }
  bool isHost() const override;
  Result<std::vector<BufferPtr>>
  launch(const ExecutablePtr &executable, std::vector<LaunchArgument> arguments,
         std::shared_ptr<const void> kept = nullptr) override;
  /// As ltc/prepared_launch.h has it.
  Result<PreparedLaunchPtr> prepare(const ExecutablePtr &executable,
                                    std::span<const Renewal> renewals,
                                    const std::vector<bool> &varies);
  Result<PreparedRun> launch(const PreparedLaunchPtr &prepared,
                             std::vector<LaunchArgument> arguments,
                             std::shared_ptr<const void> kept);
  std::vector<BufferPtr> fail(const std::vector<TensorType> &types, Error error,
                              std::shared_ptr<const void> kept) override;
  Result<BufferPtr> upload(const TensorType &type, const void *data) override;
  Result<BufferPtr> allocate(const TensorType &type) override;
  Result<BufferPtr> import(const TensorType &type, void *data) override;
  /// The same of memory that the library of kernels has on this device.
  Result<BufferPtr> import(const TensorType &type, const LibraryMemory &memory);
  Status download(const BufferPtr &buffer, void *data) override;
  Status synchronize() override;
  Result<MarkerPtr> mark() override;
  size_t inFlight() const override { return state.inFlight; }
  MemoryStats memory() const override;
  void resetPeakMemory() override;
  void clearCache() override;

  /// As copyToDevice() and deviceInfo() have it.
  Result<BufferPtr> copy(const BufferPtr &from,
                         const LibraryMemory *to = nullptr);
  Result<DeviceInfo> info() const;
  /// Drains the queue and lets go of the device; then every call that needs it
  /// returns an error. Idempotent; any thread but the queue's.
  void close();
  /// Ends what is compiled in the background; the rest goes on. Idempotent.
  void stopBackground() { background.close(); }

private:
  /// The device, or why it cannot be used.
  Result<std::shared_ptr<Device>> open() const;
  /// A buffer that is there at once, in what `take` gives of the device.
  template <typename Take>
  Result<BufferPtr> readyBuffer(const TensorType &type, Take take);
  using DevicePtr = std::shared_ptr<Device>;
  using ProgramPtr = std::shared_ptr<Program>;

  /// What a build came to, for the history.
  struct Outcome {
    bool fromDisk = false, compiled = false;
    bool isLibraryOnly = false; ///< what the compiler fails at
    bool mayDefer = false;      ///< where the graph may run without a program
    std::string fault;          ///< of the entry on disk, or empty
  };

  /// What is not in memory: from disk if it is there, else compiled.
  Result<ExecutablePtr> build(const Graph &graph, Hash128 key,
                              std::span<const DimMark> marks, bool mayDefer);
  /// Whether the graph is to run without a program once more.
  bool defers(const Graph &graph, Hash128 key, Hash128 structure,
              const Outcome &outcome);
  Result<ExecutablePtr> buildAlone(const Graph &graph, Hash128 key,
                                   const DevicePtr &device, Outcome &outcome);
  static bool usesDisk();
  /// The compiler's build, and the recipes that it is tuned by; empty if that
  /// is not to be known.
  std::string compilerName();
  std::unique_ptr<DiskEntry> diskEntry(const Graph &graph,
                                       const Device &device);
  ProgramPtr loadFrom(DiskEntry &entry, const Graph &graph,
                      const DevicePtr &device, Outcome &outcome);
  /// What the entry's load() found, as the graph's program; null, and rejected,
  /// if it is none.
  ProgramPtr take(DiskEntry &entry, DiskEntry::Found found, const Graph &graph,
                  const DevicePtr &device, Outcome &outcome);
  /// Where there is no memory for it, the programs that were not used for
  /// longest make room.
  Result<ProgramPtr> loadProgram(const DevicePtr &device, Artifact artifact,
                                 std::string_view bytes);
  /// Compiles unless another process has meanwhile. `entry` may be null.
  Result<ProgramPtr> loadOrMake(DiskEntry *entry, const Graph &graph,
                                Hash128 key, const DevicePtr &device,
                                Outcome &outcome);
  Result<ProgramPtr> make(DiskEntry *entry, const Graph &graph, Hash128 key,
                          const DevicePtr &device, Outcome &outcome);

  // build_open.cpp: sizes that vary.
  /// One trace of a family, whose mutex is held.
  struct Request {
    const Graph &trace;
    Hash128 key;
    std::span<const DimMark> marks;
    const Skeleton &skeleton;
    Hash128 familysKey;
    Family &family;
    const DevicePtr &device;
    Outcome &outcome;
  };
  Result<ExecutablePtr> buildInFamily(const Graph &trace, Hash128 key,
                                      std::span<const DimMark> marks,
                                      const DevicePtr &device,
                                      Outcome &outcome);
  /// For a graph of the family, whose mutex is held.
  Result<ExecutablePtr> buildWith(const Request &request);
  /// By a program that is there for such sizes; null if there is none.
  Result<ExecutablePtr> buildFromVersion(const Request &request);
  /// The same with the program that another process left on disk, at the first
  /// look for it.
  Result<ExecutablePtr> buildFromDisk(const Request &request);
  /// By a new program, for what this trace and earlier ones have in common, or
  /// for what is marked; null if there is none to be had.
  Result<ExecutablePtr> buildOpen(const Request &request);
  /// A program for the sizes that the version's fit leaves open; or one that
  /// another process has made, whose version it becomes then. The version has
  /// no outputs before its first program, and solves the trace.
  Result<ProgramPtr> loadOrMakeOpen(const Request &request,
                                    Family::Version &version);
  // build_own.cpp: sizes that are seen often.
  bool wantsOwnVersion(const Executable &executable) const;
  void askForOwnVersion(const Graph &graph, Hash128 key,
                        const ExecutablePtr &executable);
  void buildOwnVersion(BackgroundCompiles::Request request);

  std::unique_ptr<DiskEntry>
  familyEntry(const Request &request, const std::vector<GraphOutput> &outputs);
  Result<Artifact> runCompiler(const Graph &graph, Hash128 key, Device &device,
                               Outcome &outcome);
  /// Checks a buffer from outside and sees through it.
  Result<DeviceBufferPtr> own(const BufferPtr &buffer) const;
  /// The program of an executable of this device.
  Result<std::shared_ptr<BoundProgram>>
  boundProgram(const ExecutablePtr &executable) const;
  Result<std::vector<ScalarOrBuffer>>
  checkArguments(const RunShape &shape,
                 const std::vector<LaunchArgument> &arguments) const;
  /// Marks what is donated, each once, and no other argument; or nothing.
  static Status consume(const RunShape &shape,
                        std::vector<ScalarOrBuffer> &arguments);
  /// Queues a run; returns its results.
  Result<std::vector<DeviceBufferPtr>>
  enqueue(RunShape shape, std::vector<LaunchArgument> arguments,
          const std::shared_ptr<Completion> &completion,
          std::shared_ptr<const void> kept);
  Result<Memory> allocate(Device &device, size_t bytes);

  mutable std::mutex mutex; ///< guards `device`
  std::shared_ptr<Device> device;
  CompilerSource compilerSource;
  MemoryCache cache;
  Families families;
  DiskCacheState diskState;
  CompileHistory history;
  Deferrals deferrals;
  LaunchState state;
  // Last: their threads end before what their work refers to.
  Queue queue{[this] { state.rest(); }};
  BackgroundCompiles background{[this](BackgroundCompiles::Request request) {
    buildOwnVersion(std::move(request));
  }};
};

} // namespace ltc::runtime
