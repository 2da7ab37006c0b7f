//===- parallel.h - Loops on the process's own threads ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/cpu_kernels.h"

namespace ltc::kernels {

/// HostServices::parallelFor. Runs the pieces on the OpenMP team that the
/// host's own kernels use on the calling thread, so that one pool serves both,
/// as many as noteThreadCount() saw. Serial inside a parallel region, or if two
/// pieces of `grain` are too many. `body` must not throw. Which thread runs
/// which piece, and how many pieces there are, differs from time to time.
void parallelFor(int64_t n, int64_t grain,
                 void (*body)(int64_t begin, int64_t end, void *),
                 void *argument);

/// The threads among which parallelFor() would share a loop of the calling
/// thread's: one where it is serial.
unsigned loopThreads();

/// HostServices::stayAlone. The calling thread runs programs and nothing else
/// from now on: their loops share a parallel region (team.h), which stays open
/// until lendThreads() or the end of the thread. While the thread is alone
/// its own loops pass the region by.
void stayAlone(bool alone);

/// HostServices::borrowThread. With the floating-point modes of a new thread.
void borrowThread(bool begins, WaitingTeam team = {});

/// HostServices::waitingTeam. That of the calling thread's region, if it is
/// open.
WaitingTeam waitingTeam();

/// HostServices::rest. Idle threads count for libgomp: with more of them than
/// cores it lets those of all other teams sleep between loops, and an eager
/// step of 0.8 ms took 2.8 as soon as a lazy one had run on two threads.
void rest();

/// HostServices::threadCount. What noteThreadCount() saw last.
unsigned threadCount();

} // namespace ltc::kernels
