//===- work_pool_test.cpp - Threads that compile parts of a graph ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/work_pool.h"

#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <latch>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using llvm::ThreadPoolTaskGroup;
using ltc::compiler::WorkPool;

namespace {

TEST(WorkPool, WhoWaitsWorksToo) {
  constexpr unsigned threads = 3;
  std::atomic<unsigned> ended = 0;
  std::mutex mutex;
  std::set<std::thread::id> seen;
  {
    WorkPool pool(threads, [&] {
      EXPECT_NE(seen.count(std::this_thread::get_id()), 0u);
      ++ended;
    });
    EXPECT_EQ(pool.getMaxConcurrency(), threads);
    ThreadPoolTaskGroup group(pool);
    std::latch all(threads); // each of them waits for the others
    for (unsigned i = 0; i < threads; ++i)
      group.async([&] {
        all.arrive_and_wait();
        std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      });
    group.wait();
  }
  EXPECT_EQ(seen.size(), threads);
  EXPECT_EQ(seen.count(std::this_thread::get_id()), 1u);
  EXPECT_EQ(ended, threads - 1);
}

TEST(WorkPool, OneThreadIsTheOneThatWaits) {
  WorkPool pool(1, [] { FAIL() << "there is no other"; });
  std::thread::id thread;
  pool.async([&] { thread = std::this_thread::get_id(); });
  pool.wait();
  EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(WorkPool, TasksWaitForTasks) {
  std::atomic<int> leaves = 0;
  WorkPool pool(2, {});
  ThreadPoolTaskGroup outer(pool);
  for (int i = 0; i < 20; ++i)
    outer.async([&] {
      int mine = 0;
      std::mutex mutex;
      ThreadPoolTaskGroup inner(pool);
      for (int j = 0; j < 20; ++j)
        inner.async([&] {
          std::lock_guard lock(mutex);
          ++mine;
        });
      inner.wait();
      EXPECT_EQ(mine, 20);
      leaves += mine;
    });
  outer.wait();
  EXPECT_EQ(leaves, 400);
}

TEST(WorkPool, TheEndRunsWhatIsLeft) {
  std::atomic<int> ran = 0;
  {
    WorkPool pool(2, {});
    for (int i = 0; i < 50; ++i)
      pool.async([&] { ++ran; });
  }
  EXPECT_EQ(ran, 50);
}

/// Exits with 0 if it ran all tasks without another thread.
[[noreturn]] void runWhereThreadsAreRefused() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlim_t bytes = pages * size_t(sysconf(_SC_PAGESIZE)) + (rlim_t(1) << 20);
  rlimit limit{bytes, bytes}; // too little for a thread's stack
  if (setrlimit(RLIMIT_AS, &limit) != 0)
    std::_Exit(2);
  unsigned here = 0;
  WorkPool pool(4, {});
  for (int i = 0; i < 4; ++i)
    pool.async([&, thread = std::this_thread::get_id()] {
      here += thread == std::this_thread::get_id();
    });
  pool.wait();
  std::_Exit(here == 4 ? 0 : 1);
}

TEST(WorkPoolDeathTest, DoesWithoutThreadsThatCannotBeHad) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runWhereThreadsAreRefused(), ::testing::ExitedWithCode(0), "");
}

} // namespace
