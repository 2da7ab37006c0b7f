//===- reads/read_habit.h - Whether a program only reads --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that looks at a value after every few calls, such as
// non-maximum suppression by hand, gains nothing from a call that is recorded:
// its node is run a moment later. What such a program does is noted here, for
// each thread, so that threads leave each other's order alone. Nothing looks at
// a clock: a program that is run again does the same again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstddef>

namespace ltc::backend {

/// So many calls have run on the host, without a graph, for a read or for an op
/// whose sizes depend on values.
void noteHostCalls(size_t calls);
/// A graph of so many calls has ended.
void noteGraph(size_t calls);
/// The program has looked at a value.
void noteLook();
/// There is to be new evidence.
void forgetReads();

namespace detail {
extern std::atomic<bool> anyReader; ///< has been, on any thread
bool readsAllTheTime();
} // namespace detail
/// Whether most calls of late have gone to reads. Counts a call: after many
/// without a look at a value the program does something else.
inline bool readsAllTheTime() {
  return detail::anyReader.load(std::memory_order_relaxed) &&
         detail::readsAllTheTime();
}

} // namespace ltc::backend
