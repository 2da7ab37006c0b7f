//===- kernels.h - Library kernels that compiled code calls -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions, convolutions and everything else without a row are calls from
// compiled code through this table. The CPU's kernel library (cpu_kernels.h)
// fills it, with ATen's kernels behind its own where ltc_backend lends those.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <functional>
#include <memory>

namespace ltc {

/// One operand or result as the code passes it: memory it does not own, sizes
/// and strides in elements, or a scalar's 64 bits in `scalar`.
struct KernelView {
  void *data = nullptr;
  const int64_t *sizes = nullptr, *strides = nullptr;
  uint32_t rank = 0;
  DType dtype = DType::F32;
  bool isScalar = false;
  union {
    double real;
    int64_t integer = 0;
  };

  /// False for a tensor that the call leaves out.
  bool isDefined() const { return data || rank; }
  /// Whether it is row-major without gaps.
  bool isDense() const {
    int64_t step = 1;
    for (uint32_t dim = rank; dim-- > 0; step *= sizes[dim])
      if (sizes[dim] != 1 && strides[dim] != step)
        return elements() == 0;
    return true;
  }
  /// `dim` from the last one, -1, if it is negative.
  int64_t size(int64_t dim) const { return sizes[dim < 0 ? rank + dim : dim]; }
  int64_t stride(int64_t dim) const {
    return strides[dim < 0 ? rank + dim : dim];
  }
  std::span<const int64_t> shape() const { return {sizes, rank}; }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t size : shape())
      count *= size;
    return count;
  }
  template <typename T> T *as() const { return static_cast<T *>(data); }
};

/// What a device captures of a stream, from its making to end().
class LTC_API Capture {
public:
  virtual ~Capture() = default;
  virtual Status end() = 0;
};

/// Why a kernel cannot be captured, as ltc_uncaptured (plugin.h).
enum class Uncaptured : int32_t { May, NoCaptures, Draws, Looks, Foreign };

/// A call bound to its attributes. run() may be called from one thread at a
/// time for each Kernel; it writes every element of every result.
class LTC_API Kernel {
public:
  virtual ~Kernel() = default;
  virtual Status run(std::span<const KernelView> operands,
                     std::span<const KernelView> results) = 0;
  /// The same for memory of the device that it was found for, queued in one of
  /// that device's streams, by its own handle.
  virtual Status runOn(void *stream, std::span<const KernelView> operands,
                       std::span<const KernelView> results);
  /// Whether what runOn() queues can be captured, as far as is known before.
  virtual Uncaptured uncaptured() const { return Uncaptured::NoCaptures; }
  /// Has the stream capture from now on, for runOn() of this kernel.
  virtual Result<std::unique_ptr<Capture>> capture(void *stream);
};

/// Finds the kernel for a one-node Graph (Artifact::calls). Any thread.
using KernelProvider =
    std::function<Result<std::unique_ptr<Kernel>>(const Graph &call)>;
/// The same, for a device that the library knows: `number` of those of `type`.
using DeviceKernelProvider = Result<std::unique_ptr<Kernel>> (*)(
    const Graph &call, const std::string &type, uint32_t number);

/// Runs body(begin, end) over [0, n) in pieces of about `grain` or more.
using ParallelFor = void (*)(int64_t n, int64_t grain,
                             void (*body)(int64_t, int64_t, void *),
                             void *argument);

/// Threads between two loops, kept by the one that runs the queue's programs.
struct WaitingTeam {
  void *team = nullptr; ///< null: none are waiting
  unsigned threads = 0; ///< with that of whoever runs a loop
};

/// What the process lends to drivers. Set once, before the first engine:
/// any thread may read it later.
struct HostServices {
  KernelProvider kernels;
  ParallelFor parallelFor = nullptr; ///< nullptr: run on the calling thread
  /// Called before each program that a thread runs, which runs nothing else:
  /// whether its kernels and loops, from now on, keep to that thread (true) or
  /// may use all of the pool. May be nullptr.
  void (*stayAlone)(bool alone) = nullptr;
  /// Called around a program that runs on a thread with other work of its own,
  /// true before and false after: in between all keeps to that thread, but for
  /// loops, which also use the threads of `team`, if there is one; behind it
  /// the thread's settings are what they were. May be nullptr.
  void (*borrowThread)(bool begins, WaitingTeam team) = nullptr;
  /// Those that wait for the calling thread's next loop. Until it runs another
  /// program, one thread at a time may borrow them. May be nullptr.
  WaitingTeam (*waitingTeam)() = nullptr;
  /// Called by the thread that runs the queue's programs when it had none to
  /// run for a while: ends the threads that it keeps for its loops. May be
  /// nullptr.
  void (*rest)() = nullptr;
  /// How many threads the pool has. nullptr: one.
  unsigned (*threadCount)() = nullptr;
  /// Kernels of other devices than the CPU. May be nullptr.
  DeviceKernelProvider deviceKernels = nullptr;
  /// Another number if those may do other things than before. May be nullptr.
  uint64_t (*deviceKernelSettings)() = nullptr;
};
LTC_API void setHostServices(HostServices services);
LTC_API const HostServices &hostServices();
/// HostServices::threadCount, or 1.
LTC_API unsigned hostThreads();

} // namespace ltc
