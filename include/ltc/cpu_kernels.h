//===- cpu_kernels.h - The CPU's kernel library -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products, convolutions, attention, layers over times and the threads of all
// loops: libltc_kernels_cpu, which needs no other library. A front end whose
// process has more kernels, and a pool of threads, lends them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

namespace ltc::kernels {

/// What a front end lends. Any may be null.
struct Lent {
  /// Kernels for every call that the library does not serve, or not as fast:
  /// it asks them first where it only has plain loops.
  KernelProvider others;
  /// c = a b, or c += it: matrices of rows * cols * depth, their rows so far
  /// apart. Blocks of at most 64 columns.
  void (*multiply)(int64_t rows, int64_t cols, int64_t depth, int64_t aStride,
                   int64_t bStride, int64_t cStride, bool accumulate,
                   const float *a, const float *b, float *c) = nullptr;
  /// How many threads a parallel region of the calling thread gets. The OpenMP
  /// runtime that the function's library was linked with is then used.
  int (*threads)() = nullptr;
  /// Whether the calling thread is in a parallel region.
  bool (*isInRegion)() = nullptr;
  /// Kernels of devices that are not the CPU.
  DeviceKernelProvider onDevices = nullptr;
  uint64_t (*settingsOnDevices)() = nullptr; ///< HostServices
};

/// Calls setHostServices() with this library's kernels and threads. Once,
/// before the first engine.
LTC_API void install(Lent lent = {});

/// The kernel of a call: the library's own, one that was lent, or both, where
/// the operands decide. Any thread.
LTC_API Result<std::unique_ptr<Kernel>> resolve(const Graph &call);

/// Whether the library serves the call without another one. It may still
/// decline operands of some kinds when it runs.
LTC_API bool hasOwn(const Graph &call);

/// How many threads regions opened from now on have where none were lent; 0 is
/// one for each core.
void useOwnThreads(unsigned count);

/// Whether this processor has kernels for layers over times (recurrent.h).
LTC_API bool hasRecurrentLayers();

/// Called before another library's kernels run on the calling thread: leaves
/// the region (team.h), so that they have the threads to themselves, and lets
/// OpenMP and MKL use as many as noteThreadCount() saw last. Nearly free when
/// there is nothing to do.
LTC_API void lendThreads();

/// Remembers how many threads the calling thread has. Called at each launch, on
/// the user's thread: 5 ns.
LTC_API void noteThreadCount();

/// Ends the calling thread's idle team, if it has one; its next parallel region
/// starts another, for about 50 us. Called at each launch, on the user's
/// thread: libgomp counts idle teams too, and with more threads than cores it
/// lets every wait of the queue's team sleep in the kernel, which made a GPT
/// step 1.4 times as long. Nearly free without a team.
LTC_API void releaseThreads();

} // namespace ltc::kernels
