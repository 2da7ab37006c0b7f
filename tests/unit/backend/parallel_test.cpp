//===- parallel_test.cpp - Loops on torch's threads -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/parallel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

using namespace ltc::backend;

namespace {

struct Visits {
  std::vector<int> counts;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int pieces = 0;

  static void visit(int64_t begin, int64_t end, void *data) {
    auto &visits = *static_cast<Visits *>(data);
    for (int64_t i = begin; i < end; ++i)
      ++visits.counts[i];
    std::lock_guard lock(visits.mutex);
    visits.threads.insert(std::this_thread::get_id());
    ++visits.pieces;
  }
};

Visits &loop(Visits &visits, int64_t n, int64_t grain) {
  visits.counts.assign(n, 0);
  parallelFor(n, grain, Visits::visit, &visits);
  return visits;
}

TEST(ParallelFor, VisitsEveryIndexOnce) {
  at::set_num_threads(4);
  for (int64_t n : {1, 2, 3, 5, 7, 64, 1000, 1001})
    for (int64_t grain : {0, 1, 3, 64, 2000}) {
      Visits visits;
      loop(visits, n, grain);
      EXPECT_EQ(visits.counts, std::vector<int>(n, 1)) << n << " " << grain;
      if (grain > 0)
        EXPECT_LE(visits.pieces, (n + grain - 1) / grain);
    }
  Visits none;
  EXPECT_EQ(loop(none, 0, 1).pieces, 0);
}

TEST(ParallelFor, UsesAsManyThreadsAsTorchMay) {
  at::set_num_threads(3);
  Visits three, one;
  EXPECT_EQ(loop(three, 300, 1).threads.size(), 3u);
  at::set_num_threads(1);
  EXPECT_EQ(loop(one, 300, 1).threads.size(), 1u);
}

size_t threadsOfProcess() {
  std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(ParallelFor, SharesTheTeamOfAtensKernels) {
  size_t ofAten = 0, ofBoth = 0, used = 0;
  std::thread([&] {
    at::set_num_threads(3);
    at::Tensor x = at::ones({1 << 20});
    x.add_(x);
    ofAten = threadsOfProcess();
    Visits visits;
    used = loop(visits, 300, 1).threads.size();
    x.add_(x);
    ofBoth = threadsOfProcess();
  }).join();
  EXPECT_EQ(used, 3u);
  EXPECT_EQ(ofBoth, ofAten);
}

TEST(ParallelFor, AnotherThreadFollowsTheNumber) {
  at::set_num_threads(2);
  noteThreadCount();
  size_t before = 0, after = 0;
  std::thread([&] {
    Visits visits;
    before = loop(visits, 300, 1).threads.size();
    std::thread([] {
      at::set_num_threads(3);
      noteThreadCount();
    }).join();
    Visits more;
    after = loop(more, 300, 1).threads.size();
  }).join();
  EXPECT_EQ(before, 2u);
  EXPECT_EQ(after, 3u);
}

TEST(ParallelFor, NestedLoopsAreSerial) {
  at::set_num_threads(3);
  std::atomic<int> wrong{0};
  parallelFor(
      3, 1,
      [](int64_t begin, int64_t, void *wrong) {
        std::thread::id here = std::this_thread::get_id();
        Visits visits;
        loop(visits, 100 + begin, 1);
        if (visits.threads != std::set{here})
          ++*static_cast<std::atomic<int> *>(wrong);
      },
      &wrong);
  EXPECT_EQ(wrong, 0);
}

} // namespace
