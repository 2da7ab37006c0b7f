//===- parallel.h - Loops on torch's own threads ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

namespace ltc::backend {

/// HostServices::parallelFor. Runs the pieces on the OpenMP team that ATen's
/// own kernels use on the calling thread, so that one pool serves both, as many
/// as torch.set_num_threads allows. Serial inside a parallel region, or if two
/// pieces of `grain` are too many. `body` must not throw. Which thread runs
/// which piece, and how many pieces there are, differs from time to time.
LTC_API void parallelFor(int64_t n, int64_t grain,
                         void (*body)(int64_t begin, int64_t end, void *),
                         void *argument);

/// The threads among which parallelFor() would share a loop of the calling
/// thread's: one where it is serial.
LTC_API unsigned loopThreads();

/// HostServices::stayAlone. The calling thread runs programs and nothing else
/// from now on: their loops share a parallel region (team.h), which stays open
/// until prepareForAten() or the end of the thread. While the thread is alone
/// its own loops pass the region by.
LTC_API void stayAlone(bool alone);

/// HostServices::borrowThread. With the floating-point modes of a new thread.
LTC_API void borrowThread(bool begins, WaitingTeam team = {});

/// HostServices::waitingTeam. That of the calling thread's region, if it is
/// open.
LTC_API WaitingTeam waitingTeam();

/// HostServices::rest. Idle threads count for libgomp: with more of them than
/// cores it lets those of all other teams sleep between loops, and an eager
/// step of 0.8 ms took 2.8 as soon as a lazy one had run on two threads.
LTC_API void rest();

/// Called before any of ATen's kernels runs on the calling thread: leaves the
/// region, so that they have the threads to themselves, and lets OpenMP and MKL
/// use as many as torch.set_num_threads was last told when noteThreadCount()
/// saw it. Nearly free when there is nothing to do.
LTC_API void prepareForAten();

/// Remembers how many threads torch gives the calling thread. Called at each
/// launch, on the user's thread: 5 ns.
LTC_API void noteThreadCount();

/// HostServices::threadCount. What noteThreadCount() saw last.
LTC_API unsigned threadCount();

/// Ends the calling thread's idle team, if it has one; its next parallel region
/// starts another, for about 50 us. Called at each launch, on the user's
/// thread: libgomp counts idle teams too, and with more threads than cores it
/// lets every wait of the queue's team sleep in the kernel, which made a GPT
/// step 1.4 times as long. Nearly free without a team.
LTC_API void releaseThreads();

} // namespace ltc::backend
