//===- cpu_driver_test.cpp - Memory pool and half conversions ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "drivers/cpu/pool.h"
#include "drivers/cpu/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

using namespace ltc::cpu;

namespace {

constexpr size_t MiB = size_t(1) << 20;

/// How far behind a multiple of `to` a block begins.
size_t placeIn(size_t to, const void *data) {
  return reinterpret_cast<uintptr_t>(data) % to;
}

TEST(Pool, AlignsAndRounds) {
  Pool pool(0);
  for (size_t bytes : {0, 1, 63, 64, 65, 1000, 4097, 70000, 999999, 1 << 20,
                       3000000, 5 << 20}) {
    Pool::Block block = pool.allocate(bytes);
    ASSERT_NE(block.data, nullptr) << bytes;
    EXPECT_GE(block.bytes, bytes);
    EXPECT_LE(block.bytes, bytes + bytes / 32 + 64);
    EXPECT_EQ(placeIn(64, block.data), 0u) << bytes;
    if (block.bytes >= 2 * MiB)
      EXPECT_LT(placeIn(2 * MiB, block.data), 4096u) << bytes;
    std::memset(block.data, 0xff, block.bytes);
    pool.free(block);
  }
}

TEST(Pool, ReusesTheBestFit) {
  Pool pool(0);
  Pool::Block small = pool.allocate(1 * MiB);
  Pool::Block large = pool.allocate(8 * MiB);
  pool.free(large);
  pool.free(small);
  EXPECT_EQ(pool.memory(false).reserved, 9 * MiB);
  EXPECT_EQ(pool.allocate(1 * MiB).data, small.data);
  EXPECT_EQ(pool.allocate(8 * MiB - 100).data, large.data);
  EXPECT_EQ(pool.memory(false).reserved, 9 * MiB);
  EXPECT_EQ(pool.memory(false).allocated, 9 * MiB);
  pool.free(small);
  pool.free(large);
  // A block that is much too large stays for a larger request.
  Pool::Block middle = pool.allocate(4 * MiB);
  EXPECT_NE(middle.data, large.data);
  EXPECT_EQ(pool.memory(false).reserved, 13 * MiB);
  pool.free(middle);
}

TEST(Pool, AStepThatRepeatsReservesNothingNew) {
  Pool pool(0);
  size_t reserved = 0;
  for (int step = 0; step < 10; ++step) {
    std::vector<Pool::Block> blocks;
    for (size_t i = 1; i < 40; ++i)
      blocks.push_back(pool.allocate(i * 77777));
    for (Pool::Block block : blocks)
      pool.free(block);
    if (step == 0)
      reserved = pool.memory(false).reserved;
    EXPECT_EQ(pool.memory(false).reserved, reserved);
  }
  EXPECT_EQ(pool.memory(false).allocated, 0u);
}

TEST(Pool, ShapesThatNeverRepeatDoNotPileUp) {
  Pool pool(0);
  for (size_t i = 1; i < 400; ++i)
    pool.free(pool.allocate(100 * MiB / i + 4096 * i));
  ltc_memory stats = pool.memory(false);
  EXPECT_LE(stats.reserved, stats.max_allocated + 64 * MiB);
}

TEST(Pages, BlocksShareARegionAndKeepWhatIsTheirs) {
  Pages pages;
  constexpr size_t count = 300, bytes = 200 * 1000; // two regions
  std::vector<unsigned char *> blocks;
  for (size_t i = 0; i < count; ++i) {
    blocks.push_back(static_cast<unsigned char *>(pages.allocate(bytes)));
    ASSERT_NE(blocks[i], nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[i]) % 64, 0u);
    std::memset(blocks[i], int(i % 251), bytes);
  }
  for (size_t i = 0; i < count; i += 2)
    pages.release(blocks[i], bytes);
  for (size_t i = 1; i < count; i += 2)
    for (size_t at : {size_t(0), size_t(63), bytes / 2, bytes - 1})
      ASSERT_EQ(blocks[i][at], i % 251);
  // What was released is the kernel's: it comes back as zeros.
  EXPECT_EQ(blocks[2][bytes / 2], 0);
  for (size_t i = 1; i < count; i += 2)
    pages.release(blocks[i], bytes);
  // The last region serves again from its start.
  void *first = pages.allocate(bytes), *second = pages.allocate(bytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % (2 * MiB), 0u);
  ptrdiff_t apart = static_cast<char *>(second) - static_cast<char *>(first);
  EXPECT_GE(apart, ptrdiff_t(bytes));
  EXPECT_LT(apart, ptrdiff_t(bytes + 4096));
  pages.release(first, bytes);
  pages.release(second, bytes);
}

TEST(Pages, BlocksOfASizeBeginAtOtherPlacesOfAPage) {
  for (size_t bytes : {MiB / 4, MiB, 2 * MiB, 5 * MiB}) {
    Pages pages;
    std::set<size_t> places;
    std::vector<void *> blocks;
    for (int i = 0; i < 8; ++i) {
      blocks.push_back(pages.allocate(bytes));
      places.insert(placeIn(4096, blocks.back()));
    }
    EXPECT_EQ(places.size(), 8u) << bytes;
    for (void *block : blocks)
      pages.release(block, bytes);
  }
}

TEST(Pages, ClearsABlockAndNothingElse) {
  for (size_t bytes : {MiB / 4, MiB / 4 + 64, 2 * MiB, 2 * MiB + 64}) {
    Pages pages;
    std::vector<unsigned char *> blocks;
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(static_cast<unsigned char *>(pages.allocate(bytes)));
      std::memset(blocks.back(), 0xff, bytes);
    }
    Pages::clear(blocks[1], bytes);
    EXPECT_EQ(std::count(blocks[1], blocks[1] + bytes, 0), ptrdiff_t(bytes));
    for (int i : {0, 2})
      EXPECT_EQ(std::count(blocks[i], blocks[i] + bytes, 0), 0);
    for (void *block : blocks)
      pages.release(block, bytes);
  }
}

TEST(Pool, TheLimitCountsWhatIsKept) {
  Pool pool(10 * MiB);
  Pool::Block first = pool.allocate(6 * MiB);
  EXPECT_EQ(pool.allocate(6 * MiB).data, nullptr);
  EXPECT_EQ(pool.memory(false).allocated, 6 * MiB);
  pool.free(first);
  Pool::Block second = pool.allocate(9 * MiB); // the kept 6 MiB must go
  ASSERT_NE(second.data, nullptr);
  EXPECT_EQ(pool.memory(false).reserved, 9 * MiB);
  pool.free(second);
  EXPECT_EQ(pool.allocate(11 * MiB).data, nullptr);
}

// Half-precision conversions, as compiled code calls them.

template <typename Function> Function *builtin(std::string_view name) {
  void *address = findBuiltin(name);
  EXPECT_NE(address, nullptr) << name;
  return reinterpret_cast<Function *>(address);
}

uint16_t halfOf(float inRegister) {
  return uint16_t(std::bit_cast<uint32_t>(inRegister));
}

/// Checks rounding at, between and beside all finite halves of one format.
void checkRounding(std::string_view name, uint16_t infinity,
                   double (*valueOf)(uint16_t)) {
  auto round = builtin<float(double)>(name);
  auto rounded = [&](double value) { return halfOf(round(value)); };
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    double here = valueOf(bits), next = valueOf(uint16_t(bits + 1));
    if (bits + 1 == infinity)
      next = here + (here - valueOf(uint16_t(bits - 1)));
    double middle = (here + next) / 2;
    ASSERT_EQ(rounded(here), bits);
    ASSERT_EQ(rounded(-here), bits | 0x8000);
    ASSERT_EQ(rounded(middle), bits % 2 ? bits + 1 : bits) << bits;
    ASSERT_EQ(rounded(std::nextafter(middle, 0)), bits) << bits;
    ASSERT_EQ(rounded(std::nextafter(middle, INFINITY)), bits + 1) << bits;
  }
  EXPECT_EQ(rounded(INFINITY), infinity);
  EXPECT_EQ(rounded(1e300), infinity);
  EXPECT_EQ(rounded(-INFINITY), infinity | 0x8000);
  EXPECT_EQ(rounded(1e-300), 0);
  EXPECT_GT(rounded(NAN) & 0x7fff, infinity);
}

double f16Value(uint16_t bits) {
  int exponent = bits >> 10, fraction = bits & 1023;
  return exponent ? std::ldexp(1024 + fraction, exponent - 25)
                  : std::ldexp(fraction, -24);
}

double bf16Value(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

TEST(Halves, RoundToNearestEven) {
  checkRounding("__truncdfhf2", 0x7c00, f16Value);
  checkRounding("__truncdfbf2", 0x7f80, bf16Value);
}

TEST(Halves, FloatsRoundLikeDoubles) {
  auto f16 = builtin<float(float)>("__truncsfhf2");
  auto f16FromDouble = builtin<float(double)>("__truncdfhf2");
  auto bf16 = builtin<float(float)>("__truncsfbf2");
  auto bf16FromDouble = builtin<float(double)>("__truncdfbf2");
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 65521) {
    auto value = std::bit_cast<float>(uint32_t(bits));
    if (std::isnan(value))
      continue;
    ASSERT_EQ(halfOf(f16(value)), halfOf(f16FromDouble(value))) << value;
    ASSERT_EQ(halfOf(bf16(value)), halfOf(bf16FromDouble(value))) << value;
  }
}

TEST(Halves, Extend) {
  auto extend = builtin<float(float)>("__extendhfsf2");
  auto value = [&](uint16_t bits) {
    return extend(std::bit_cast<float>(uint32_t(bits) | 0xabcd0000));
  };
  for (uint16_t bits = 0; bits < 0x7c00; ++bits) {
    ASSERT_EQ(value(bits), f16Value(bits));
    ASSERT_EQ(value(bits | 0x8000), -f16Value(bits));
  }
  EXPECT_EQ(value(0x7c00), INFINITY);
  EXPECT_EQ(value(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(value(0x7e00)));
  EXPECT_EQ(findBuiltin("__unknown"), nullptr);
}

} // namespace
