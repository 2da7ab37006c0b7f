//===- engine.h - Compile, cache and run graphs on a device -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One Engine a device: its driver, its in-order queue, its cache of
// executables. launch() and upload() return at once with buffers that become
// ready later. A failed launch fails its own results and what is computed from
// them, nothing else: the memory that was donated to it is as it was before,
// and the device stays usable.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"

#include <atomic>
#include <chrono>
#include <memory>

namespace ltc {

/// Device memory with a type that becomes ready, or fails, once. Shared; freed
/// when the last owner lets go and the last queued use has run.
class Buffer {
public:
  virtual ~Buffer() = default;
  virtual const TensorType &type() const = 0;
  /// Blocks until ready. Returns the error of the launch that should have
  /// written it. Any thread; must not hold the GIL.
  virtual Status wait() = 0;
  /// Ready or failed, within that time; 0 does not block. For callers that have
  /// to look at signals while they wait.
  virtual bool waitFor(std::chrono::milliseconds time) = 0;
  /// Its error, which does not count as delivered; null if it is ready, or not
  /// known to have failed. Any thread, as the next two.
  virtual const Error *failure() const = 0;
  /// Whether it has failed, and somebody has got the error: the program goes on
  /// from what the buffer was to replace.
  virtual bool isUndone() const = 0;
  /// Whether it has no memory any more, since a launch has taken it.
  virtual bool isConsumed() const = 0;
  /// Where the host reads the memory, after wait(); null where it cannot. Good
  /// until the last owner lets go, or a launch that it is donated to.
  virtual const void *hostPointer() const { return nullptr; }
};
/// Whether anything has failed in this process, for who asks often.
LTC_API extern std::atomic<bool> anyFailure;
using BufferPtr = std::shared_ptr<Buffer>;

/// A loaded graph. Shared; unloaded when evicted and the last launch is done.
class Executable {
public:
  virtual ~Executable() = default;
  virtual const Artifact &artifact() const = 0;
};
using ExecutablePtr = std::shared_ptr<Executable>;

/// A place in a device's queue, reached when all that was queued before it has
/// run, failed or not. Shared, any thread.
class Marker {
public:
  virtual ~Marker() = default;
  /// Reached within that time; 0 does not block. Must not hold the GIL.
  virtual bool waitFor(std::chrono::milliseconds time) = 0;
  /// When it was reached. Only after waitFor() has said so.
  virtual std::chrono::steady_clock::time_point time() const = 0;
};
using MarkerPtr = std::shared_ptr<Marker>;

/// A graph input at launch: a buffer, or the 64 bits of a host scalar.
struct LaunchArgument {
  BufferPtr buffer; ///< null for a scalar
  union {
    double real;
    int64_t integer = 0; ///< I64, and Bool as 0 or 1
  };
};

/// What a program says of one dimension of a graph's input.
struct DimMark {
  enum class Kind : uint8_t {
    Dynamic, ///< it will vary: leave it open from the first compile on
    Static,  ///< it will not, or is worth a compile for each size
  };
  uint32_t input = 0, dim = 0;
  Kind kind = Kind::Dynamic;
};

struct MemoryStats {
  size_t allocated = 0, maxAllocated = 0, reserved = 0;
};

/// Graphs of one structure that run call by call. Times are expected, in
/// seconds.
struct DeferredGraphs {
  size_t ops = 0;       ///< of the last one
  SourceId endedBy = 0; ///< its Graph::endedBy
  uint64_t runs = 0;    ///< since the start, or the last compile
  double spent = 0;     ///< by those
  double compile = 0;   ///< what a compile would take
  double until = 0;     ///< what they must have spent before one
};

class Engine {
public:
  virtual ~Engine() = default;
  /// The executable for this key, if it is in memory. Counts cache.hit.memory.
  /// Null also when the engine wants to see the graph of a size that is seen
  /// often: compile() then has it at once.
  virtual ExecutablePtr lookup(Hash128 graphHash) = 0;
  /// Compiles on a miss (blocks), and remembers. One compile for each graph
  /// however many threads ask. `graph.hash()` is the key. A graph that differs
  /// in sizes from one that was compiled is compiled for all sizes, if setting
  /// `dynamic` says so, and what is returned serves the given ones. A graph
  /// with symbols is bound to its hints.
  /// With `mayDefer` null is returned, and a run counted, where there is no
  /// program and a compile would not be worth its time yet: the caller then
  /// runs the graph call by call.
  virtual Result<ExecutablePtr> compile(const Graph &graph,
                                        std::span<const DimMark> marks = {},
                                        bool mayDefer = false) = 0;
  /// Whether compile() has returned null for this key, and would again. Counts
  /// a run then. A CompileGuard's thread compiles nothing that was deferred
  /// before, and all else at once.
  virtual bool defersAgain(Hash128 graphHash) = 0;
  /// The caller runs a graph of this key without having asked compile().
  virtual void noteDeferred(Hash128 graphHash) = 0;
  /// What compile() has returned null for, and is not compiled since; those
  /// that have spent most come first.
  virtual std::vector<DeferredGraphs> deferred() const = 0;
  /// Whether the device is the host itself: its kernels compute in this
  /// device's memory, and give what programs give.
  virtual bool isHost() const = 0;
  /// Queues one run. Buffers of donated inputs must have no other user; they
  /// are consumed; after a failure they can be used again, unless a library
  /// call failed that none is known to fail at, and had begun to overwrite
  /// them. `kept` lives until the run has succeeded, or else as long as the
  /// results. Returns one buffer a result.
  virtual Result<std::vector<BufferPtr>>
  launch(const ExecutablePtr &executable, std::vector<LaunchArgument> arguments,
         std::shared_ptr<const void> kept = nullptr) = 0;
  /// The results of a run that failed on the host, one a type: as those of a
  /// failed launch.
  virtual std::vector<BufferPtr> fail(const std::vector<TensorType> &types,
                                      Error error,
                                      std::shared_ptr<const void> kept) = 0;
  /// Copies `data` (dense, row-major) before returning; null is for zeros.
  virtual Result<BufferPtr> upload(const TensorType &type,
                                   const void *data) = 0;
  /// Memory that the host fills before anybody else sees it, at the buffer's
  /// hostPointer(); null where the host has no address for it.
  virtual Result<BufferPtr> allocate(const TensorType &type) = 0;
  /// The host's own memory, dense and row-major, as a buffer that is ready. The
  /// memory stays until nobody has the buffer, and all that was launched with
  /// it is done. Unsupported where the device does not reach it: upload() it.
  virtual Result<BufferPtr> import(const TensorType &type, void *data) = 0;
  /// Waits for the buffer, then copies it out.
  virtual Status download(const BufferPtr &buffer, void *data) = 0;
  /// Waits until everything queued has run. Delivers the first error that
  /// nobody has seen yet, once.
  virtual Status synchronize() = 0;
  /// Puts a marker behind everything that is queued.
  virtual Result<MarkerPtr> mark() = 0;
  /// Number of launches queued and not yet finished.
  virtual size_t inFlight() const = 0;
  virtual MemoryStats memory() const = 0;
  virtual void resetPeakMemory() = 0;
  /// Forgets every executable in memory.
  virtual void clearCache() = 0;
};

/// Number of devices that the chosen driver (setting `device`, LTC_DEVICE) has.
LTC_API Result<uint32_t> deviceCount();
/// The engine of a device; opened at first use. Lives until shutdown().
LTC_API Result<Engine *> engineFor(uint32_t ordinal);
/// Drains every queue and closes the devices. Called at exit; idempotent.
LTC_API void shutdown();
/// True in a child forked after a device was opened: threads and locks of the
/// parent are gone, so nothing of a device may be touched.
LTC_API bool isForked();

} // namespace ltc
