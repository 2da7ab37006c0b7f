//===- simt_test.cpp - A GPU's threads, as fibers -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/drivers/emulator/simt.h"

#include <gtest/gtest.h>

#include <bit>
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
void ltc_simt_copy_some(char *to, const char *from, int32_t bytes);
void ltc_simt_commit_copies();
void ltc_simt_wait_for_copies(int32_t but);
void ltc_simt_matrices(uint32_t *words, const char *row);
void ltc_simt_transposed_matrices(uint32_t *words, const char *row);
void ltc_simt_product_bf16(float *sums, uint32_t, uint32_t, uint32_t, uint32_t,
                           uint32_t, uint32_t, float, float, float, float);
void ltc_simt_product_f16(float *sums, uint32_t, uint32_t, uint32_t, uint32_t,
                          uint32_t, uint32_t, float, float, float, float);
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

// Small whole numbers, which both types have.
uint16_t bits(int number, bool isBf16) {
  auto single = std::bit_cast<uint32_t>(float(number));
  if (isBf16 || number == 0)
    return uint16_t(single >> 16);
  uint32_t exponent = (single >> 23 & 255) - 127 + 15;
  return uint16_t((single >> 16 & 0x8000) | exponent << 10 |
                  (single >> 13 & 1023));
}

constexpr int kRows = 16, kInner = 16, kColumns = 8;
int leftAt(int row, int inner) { return (row * 3 + inner * 5) % 7 - 3; }
int rightAt(int inner, int column) { return (inner * 2 + column) % 5 - 2; }

alignas(16) uint16_t left[kRows][kInner];     // row by row
alignas(16) uint16_t right[kInner][kColumns]; // of which columns are wanted
float products[kRows][kColumns];

/// One warp. `words`: whether in bf16.
void multipliesMatrices(const int64_t *words) {
  int32_t lane = ltc_simt_thread();
  uint32_t a[4], b[4];
  const uint16_t *row = left[lane % 16] + lane / 16 * 8;
  ltc_simt_matrices(a, reinterpret_cast<const char *>(row));
  ltc_simt_transposed_matrices(
      b, reinterpret_cast<const char *>(right[lane % 16]));
  float sums[4];
  (words[0] ? ltc_simt_product_bf16 : ltc_simt_product_f16)(
      sums, a[0], a[1], a[2], a[3], b[0], b[1], 1, 1, 1, 1);
  for (int i = 0; i < 4; ++i)
    products[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = sums[i];
}

TEST(Simt, AWarpMultipliesMatrices) {
  for (int64_t isBf16 : {0, 1}) {
    for (int k = 0; k < kInner; ++k) {
      for (int i = 0; i < kRows; ++i)
        left[i][k] = bits(leftAt(i, k), isBf16);
      for (int j = 0; j < kColumns; ++j)
        right[k][j] = bits(rightAt(k, j), isBf16);
    }
    setThreadOrder(uint32_t(isBf16));
    run("kernel", multipliesMatrices, 32, 0, 1, &isBf16);
    EXPECT_FALSE(takeSimtFault());
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) {
        int sum = 1;
        for (int k = 0; k < kInner; ++k)
          sum += leftAt(i, k) * rightAt(k, j);
        EXPECT_EQ(products[i][j], float(sum)) << i << ' ' << j;
      }
  }
  setThreadOrder(0);
}

alignas(16) int32_t copied[2][4];

/// Two copies, of which it waits for all but so many; the second is of 8 bytes.
void copies(const int64_t *words) {
  static const int32_t from[] = {1, 2, 3, 4};
  for (int i = 0; i < 2; ++i) {
    ltc_simt_copy_some(reinterpret_cast<char *>(copied[i]),
                       reinterpret_cast<const char *>(from), i ? 8 : 16);
    ltc_simt_commit_copies();
  }
  ltc_simt_wait_for_copies(int32_t(words[0]));
}

TEST(Simt, ACopyIsThereOnceItIsWaitedFor) {
  for (int64_t but : {2, 1, 0}) {
    std::fill_n(copied[0], 8, -1);
    run("kernel", copies, 1, 0, 1, &but);
    std::vector<int32_t> wanted(8, -1);
    if (but < 2)
      std::copy_n(std::vector{1, 2, 3, 4}.begin(), 4, wanted.begin());
    if (but < 1)
      std::copy_n(std::vector{1, 2, 0, 0}.begin(), 4, wanted.begin() + 4);
    EXPECT_EQ(std::vector<int32_t>(copied[0], copied[0] + 8), wanted) << but;
  }
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
