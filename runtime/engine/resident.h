//===- resident.h - Memory that need not stay resident ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compile is the one moment at which a process needs much beside what it
// trains with. It is kept apart from that in time: what the steps only use
// while they run goes before it, and what it used itself goes after it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <cstddef>
#include <string>

namespace ltc::runtime {

/// Gives the pages of host memory whose contents nobody needs back to the
/// system; the next write makes them anew, from zeros.
void discardContents(void *data, size_t bytes);

/// Lets the heap keep what is freed, up to 62 MiB at its end. Otherwise a
/// library's temporaries of some MiB go back to the system at the end of a call
/// and are made anew, page by page, in the next: 3000 faults in each step took
/// 7 of 10 ms of a convolution of 4 MiB. Once a process.
void keepFreedHeap();

/// Gives back the free pages at the end of this thread's heap, which would stay
/// with the process when the thread ends. After keepFreedHeap().
void discardFreeEndOfHeap();

/// Gives back the code of the library at `path`, which is read from its file
/// again where it runs on. Any thread, also while it runs.
void releaseCode(const std::string &path);

/// The same where the process may otherwise have more resident than it ever
/// had, the library's code all with the rest.
void releaseCodeNearPeak(const std::string &path);

/// What a program writes: one that writes less leaves the peak to the compile,
/// or the little that is free in the heap is what it takes.
constexpr size_t kWorthReleasing = size_t(4) << 20;

/// Gives back what building a program leaves: free pieces of the heap, and the
/// code of the compiler, the library at `path`. 3 to 8 ms after a compile, 1 ms
/// after a program that came from disk.
void releaseAfterBuild(const std::string &path);

} // namespace ltc::runtime
