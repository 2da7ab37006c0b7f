//===- simt_test.cpp - A GPU's threads, as fibers -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/drivers/emulator/simt.h"

#include <gtest/gtest.h>

#include <vector>

using namespace ltc::emulator;

// What compiled kernels call.
extern "C" {
void ltc_simt_run(const char *name, void (*kernel)(const int64_t *),
                  int64_t threads, int64_t begin, int64_t end,
                  const int64_t *words);
int32_t ltc_simt_thread();
int32_t ltc_simt_block();
void ltc_simt_barrier(int32_t);
int32_t ltc_simt_shuffle(int32_t, int32_t value, int32_t distance, int32_t);
void ltc_simt_access(const char *place, int64_t bytes, int32_t isWrite);
}

namespace {

constexpr int64_t kThreads = 64;
int32_t shared[kThreads];
int32_t results[2 * kThreads];

void reverse(const int64_t *words) {
  int32_t thread = ltc_simt_thread();
  shared[thread] = thread + int32_t(words[0]);
  ltc_simt_barrier(0);
  results[ltc_simt_block() * kThreads + thread] = shared[kThreads - 1 - thread];
  ltc_simt_barrier(0);
}

void sumOfWarp(const int64_t *) {
  int32_t sum = ltc_simt_thread();
  for (int32_t distance = 16; distance > 0; distance /= 2)
    sum += ltc_simt_shuffle(-1, sum, distance, 31);
  results[ltc_simt_thread()] = sum;
}

void halfAtBarrier(const int64_t *) {
  if (ltc_simt_thread() < kThreads / 2)
    ltc_simt_barrier(0);
}

void oneAtShuffle(const int64_t *) {
  if (ltc_simt_thread() == 3)
    ltc_simt_shuffle(-1, 0, 1, 31);
}

void forgetsBarrier(const int64_t *) {
  int32_t thread = ltc_simt_thread();
  shared[thread] = thread;
  results[thread] = shared[kThreads - 1 - thread];
}

/// Writes its own element, and reads another thread's.
void exchanges(const int64_t *words) {
  int32_t thread = ltc_simt_thread();
  auto at = [](int32_t i) {
    return reinterpret_cast<const char *>(shared + i);
  };
  ltc_simt_access(at(thread), 4, true);
  if (words[0])
    ltc_simt_barrier(0);
  ltc_simt_access(at(int32_t(kThreads) - 1 - thread), 4, false);
}

TEST(Simt, ARaceIsFoundInAnyOrder) {
  findRaces(true);
  for (int64_t hasBarrier : {0, 1}) {
    ltc_simt_run("kernel", exchanges, kThreads, 0, 1, &hasBarrier);
    auto fault = takeSimtFault();
    ASSERT_EQ(bool(fault), !hasBarrier);
    if (fault)
      EXPECT_NE(fault->find("no barrier between them"), fault->npos) << *fault;
  }
  findRaces(false);
  const int64_t none = 0;
  ltc_simt_run("kernel", exchanges, kThreads, 0, 1, &none);
  EXPECT_FALSE(takeSimtFault());
}

TEST(Simt, ABarrierLetsAllBlocksSeeWhatTheirThreadsWrote) {
  const int64_t words[] = {100};
  for (uint32_t order : {0, 1, 2}) {
    setThreadOrder(order);
    ltc_simt_run("kernel", reverse, kThreads, 0, 2, words);
    EXPECT_FALSE(takeSimtFault());
    for (int32_t i = 0; i < 2 * kThreads; ++i)
      EXPECT_EQ(results[i], 100 + kThreads - 1 - i % kThreads) << i;
  }
  setThreadOrder(0);
}

TEST(Simt, ShufflesStayInTheirWarp) {
  ltc_simt_run("kernel", sumOfWarp, kThreads, 0, 1, nullptr);
  EXPECT_FALSE(takeSimtFault());
  for (int32_t i = 0; i < kThreads; ++i)
    EXPECT_EQ(results[i], i < 32 ? 31 * 32 / 2 : 31 * 32 / 2 + 32 * 32) << i;
}

TEST(Simt, TellsOfABarrierThatSomeNeverReach) {
  ltc_simt_run("kernel_1", halfAtBarrier, kThreads, 5, 7, nullptr);
  EXPECT_EQ(takeSimtFault(), "kernel_1: in block 5, some threads wait at a "
                             "barrier that others never reach");
  EXPECT_FALSE(takeSimtFault());
}

TEST(Simt, TellsOfAShuffleThatSomeNeverReach) {
  ltc_simt_run("kernel_2", oneAtShuffle, kThreads, 0, 1, nullptr);
  EXPECT_EQ(takeSimtFault(), "kernel_2: in block 0, some threads wait at a "
                             "shuffle that others of their warp never reach");
}

TEST(Simt, AnOrderShowsAMissingBarrier) {
  auto run = [](uint32_t order) {
    std::fill(std::begin(shared), std::end(shared), -1);
    setThreadOrder(order);
    ltc_simt_run("kernel", forgetsBarrier, kThreads, 0, 1, nullptr);
    return std::vector<int32_t>(results, results + kThreads);
  };
  EXPECT_NE(run(0), run(1));
  setThreadOrder(0);
}

} // namespace
