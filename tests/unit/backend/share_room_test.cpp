//===- share_room_test.cpp - Memory by threads' shares of loops -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/share_room.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace ltc::kernels;

namespace {

class ShareRoomTest : public testing::TestWithParam<int> {
protected:
  void SetUp() override { setThreads(GetParam()); }
  void TearDown() override { setThreads(before); }

private:
  static void setThreads(int count) {
    at::set_num_threads(count);
    noteThreadCount();
  }
  const int before = at::get_num_threads();
};

TEST_P(ShareRoomTest, GivesEachItemAPlaceOfItsOwn) {
  ShareRoom room;
  for (int64_t count : {1, 2, 3, 4, 5, 7, 16, 33}) {
    Slots some(count, 3), others(count + 2, 5);
    room.reserve(some, others);
    auto write = [](const Slots &slots, int64_t items, int64_t size, int base) {
      for (int64_t i = 0; i < items; ++i)
        std::fill_n(slots.at(i), size, float(base + i));
    };
    auto check = [](const Slots &slots, int64_t items, int64_t size, int base) {
      for (int64_t i = 0; i < items; ++i)
        for (int64_t j = 0; j < size; ++j)
          EXPECT_EQ(slots.at(i)[j], float(base + i));
    };
    write(some, count, 3, 0);
    write(others, count + 2, 5, 1000);
    check(some, count, 3, 0);
    check(others, count + 2, 5, 1000);
  }
}

/// What a thread wrote in one call, another must not write in the next.
TEST_P(ShareRoomTest, KeepsEachSharesPlaces) {
  const int64_t threads = GetParam();
  ShareRoom room;
  Slots large(8 * threads, 100);
  room.reserve(large);
  auto beginOfShare = [&](const Slots &slots, int64_t count, int64_t share) {
    return slots.at(count * share / threads);
  };
  for (int64_t count : {threads, 2 * threads, 5 * threads}) {
    Slots small(count, 7);
    room.reserve(small);
    for (int64_t share = 0; share < threads; ++share)
      EXPECT_EQ(beginOfShare(small, count, share),
                beginOfShare(large, 8 * threads, share));
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ShareRoomTest, testing::Values(1, 2, 3, 4));

} // namespace
