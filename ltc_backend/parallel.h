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
/// as torch.set_num_threads allows. Serial inside a parallel region, or for a
/// single piece. Pieces are contiguous and of equal size. `body` must not
/// throw.
LTC_API void parallelFor(int64_t n, int64_t grain,
                         void (*body)(int64_t begin, int64_t end, void *),
                         void *argument);

/// Remembers how many threads torch gives the calling thread, for
/// followThreadCount(). Called at each launch, on the user's thread: 5 ns.
LTC_API void noteThreadCount();

/// Ends the calling thread's idle team, if it has one; its next parallel region
/// starts another, for about 50 us. Called at each launch, on the user's
/// thread: libgomp counts idle teams too, and with more threads than cores it
/// lets every wait of the queue's team sleep in the kernel, which made a GPT
/// step 1.4 times as long. Nearly free without a team.
LTC_API void releaseThreads();

/// Makes the calling thread use as many threads as torch.set_num_threads was
/// last told, once a noteThreadCount() has seen it: OpenMP and MKL keep the
/// number for each thread apart. Called before each kernel and loop; nearly
/// free when nothing changed. Setting it again would cost 40 us, since MKL
/// then drops what it keeps for the thread.
LTC_API void followThreadCount();

/// Whether kernels and loops of the calling thread keep to that thread. Takes
/// effect at the next followThreadCount().
LTC_API void stayAlone(bool alone);

} // namespace ltc::backend
