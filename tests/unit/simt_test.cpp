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
                  const int64_t *words, const int64_t *bytes, int64_t count);
int32_t ltc_simt_thread();
int32_t ltc_simt_block();
void ltc_simt_barrier(int32_t);
void ltc_simt_warp_barrier(int32_t);
int32_t ltc_simt_shuffle(int32_t, int32_t value, int32_t distance, int32_t);
void ltc_simt_access(const char *place, int64_t bytes, int32_t access,
                     const char *base, int64_t shared);
}

namespace {

enum : int32_t { kRead, kWrite, kAdd };

void run(const char *name, void (*kernel)(const int64_t *), int64_t threads,
         int64_t begin, int64_t end, const int64_t *words,
         std::vector<int64_t> bytes = {}) {
  ltc_simt_run(name, kernel, threads, begin, end, words, bytes.data(),
               int64_t(bytes.size()));
}

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

/// Teams of four, of which the last has ended.
void sumOfTeam(const int64_t *) {
  int32_t thread = ltc_simt_thread(), first = thread & 28;
  if (thread >= kThreads - 4)
    return;
  shared[thread] = thread;
  ltc_simt_warp_barrier(15 << first);
  int32_t sum = shared[thread ^ 3];
  for (int32_t distance : {2, 1})
    sum += ltc_simt_shuffle(15 << first, sum, distance, 31);
  results[thread] = sum;
}

void oneOfTeamAtBarrier(const int64_t *) {
  if (ltc_simt_thread() == 5)
    ltc_simt_warp_barrier(0xf0);
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
  auto reach = [&](int32_t i, int32_t access) {
    ltc_simt_access(at(i), 4, access, at(0), sizeof(shared));
  };
  reach(thread, kWrite);
  if (words[0])
    ltc_simt_barrier(0);
  reach(int32_t(kThreads) - 1 - thread, kRead);
}

TEST(Simt, ARaceIsFoundInAnyOrder) {
  findRaces(true);
  for (int64_t hasBarrier : {0, 1}) {
    run("kernel", exchanges, kThreads, 0, 1, &hasBarrier);
    auto fault = takeSimtFault();
    ASSERT_EQ(bool(fault), !hasBarrier);
    if (fault)
      EXPECT_NE(fault->find("no barrier between them"), fault->npos) << *fault;
  }
  findRaces(false);
  const int64_t none = 0;
  run("kernel", exchanges, kThreads, 0, 1, &none);
  EXPECT_FALSE(takeSimtFault());
}

/// Reaches an element of each block's own, or one that all have, in a way.
void reaches(const int64_t *words) {
  auto *place = reinterpret_cast<const char *>(words[0]);
  ltc_simt_access(place + 4 * words[1] * ltc_simt_block(), 4, int32_t(words[2]),
                  nullptr, 0);
}

std::string faultOf(int64_t step, int32_t access, int64_t bytes) {
  findRaces(true);
  int64_t words[] = {reinterpret_cast<int64_t>(results), step, access};
  run("kernel", reaches, 1, 0, 2, words, {bytes, 0, 0});
  findRaces(false);
  return takeSimtFault().value_or("");
}

TEST(Simt, BlocksDoNotWriteWhatOthersReach) {
  EXPECT_EQ(faultOf(0, kRead, 4), "");
  EXPECT_EQ(faultOf(1, kWrite, 8), "");
  EXPECT_EQ(faultOf(0, kWrite, 4), "kernel: in block 1, thread 0 writes what "
                                   "another writes in another block");
}

TEST(Simt, AdditionsAtOnceAreNoRace) { EXPECT_EQ(faultOf(0, kAdd, 4), ""); }

TEST(Simt, AnAccessBeyondTheArgumentsIsFound) {
  EXPECT_EQ(faultOf(1, kRead, 8), "");
  EXPECT_EQ(faultOf(1, kRead, 7), "kernel: in block 1, thread 0 reads memory "
                                  "that no argument of the kernel has");
}

TEST(Simt, ABarrierLetsAllBlocksSeeWhatTheirThreadsWrote) {
  const int64_t words[] = {100};
  for (uint32_t order : {0, 1, 2}) {
    setThreadOrder(order);
    run("kernel", reverse, kThreads, 0, 2, words);
    EXPECT_FALSE(takeSimtFault());
    for (int32_t i = 0; i < 2 * kThreads; ++i)
      EXPECT_EQ(results[i], 100 + kThreads - 1 - i % kThreads) << i;
  }
  setThreadOrder(0);
}

TEST(Simt, ShufflesStayInTheirWarp) {
  run("kernel", sumOfWarp, kThreads, 0, 1, nullptr);
  EXPECT_FALSE(takeSimtFault());
  for (int32_t i = 0; i < kThreads; ++i)
    EXPECT_EQ(results[i], i < 32 ? 31 * 32 / 2 : 31 * 32 / 2 + 32 * 32) << i;
}

TEST(Simt, ATeamWaitsForItselfAlone) {
  for (uint32_t order : {0, 1, 2}) {
    setThreadOrder(order);
    run("kernel", sumOfTeam, kThreads, 0, 1, nullptr);
    EXPECT_FALSE(takeSimtFault());
    for (int32_t i = 0; i < int32_t(kThreads) - 4; ++i)
      EXPECT_EQ(results[i], 4 * (i & ~3) + 6) << i;
  }
  setThreadOrder(0);
  run("kernel_3", oneOfTeamAtBarrier, kThreads, 0, 1, nullptr);
  EXPECT_EQ(takeSimtFault(), "kernel_3: in block 0, some threads wait at a "
                             "barrier that others of their warp never reach");
}

TEST(Simt, TellsOfABarrierThatSomeNeverReach) {
  run("kernel_1", halfAtBarrier, kThreads, 5, 7, nullptr);
  EXPECT_EQ(takeSimtFault(), "kernel_1: in block 5, some threads wait at a "
                             "barrier that others never reach");
  EXPECT_FALSE(takeSimtFault());
}

TEST(Simt, TellsOfAShuffleThatSomeNeverReach) {
  run("kernel_2", oneAtShuffle, kThreads, 0, 1, nullptr);
  EXPECT_EQ(takeSimtFault(), "kernel_2: in block 0, some threads wait at a "
                             "shuffle that others of their warp never reach");
}

TEST(Simt, AnOrderShowsAMissingBarrier) {
  auto resultsIn = [](uint32_t order) {
    std::fill(std::begin(shared), std::end(shared), -1);
    setThreadOrder(order);
    run("kernel", forgetsBarrier, kThreads, 0, 1, nullptr);
    return std::vector<int32_t>(results, results + kThreads);
  };
  EXPECT_NE(resultsIn(0), resultsIn(1));
  setThreadOrder(0);
}

} // namespace
