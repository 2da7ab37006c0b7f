//===- reads/read_habit.cpp - Whether a program only reads ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/read_habit.h"

#include <algorithm>
#include <cstdint>

namespace ltc::backend {

/// Calls on the host, less kGraphWeight times those of graphs, that are enough,
/// and that are remembered. A program that begins to train makes fewer before
/// it does.
constexpr int64_t kEnough = 256, kMost = 512, kGraphWeight = 4;
/// Calls without a look at a value.
constexpr uint32_t kMostCalls = 32;

std::atomic<bool> detail::anyReader = false;
static thread_local int64_t evidence = 0;
static thread_local uint32_t calls = 0; ///< since the last look

void noteHostCalls(size_t count) {
  evidence = std::min<int64_t>(evidence + int64_t(count), kMost);
  if (evidence >= kEnough)
    detail::anyReader.store(true, std::memory_order_relaxed);
  noteLook();
}

void noteGraph(size_t count) {
  evidence = std::max<int64_t>(evidence - kGraphWeight * int64_t(count), 0);
}

void noteLook() { calls = 0; }

void forgetReads() { evidence = 0; }

bool detail::readsAllTheTime() {
  if (evidence < kEnough)
    return false;
  evidence = std::min<int64_t>(evidence + 1, kMost);
  if (++calls <= kMostCalls)
    return true;
  forgetReads();
  return false;
}

} // namespace ltc::backend
