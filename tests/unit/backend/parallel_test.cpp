//===- parallel_test.cpp - Loops on torch's threads -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/threads/parallel.h"

#include "kernel_call.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace ltc::kernels;
namespace test = ltc::backend::test;

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
  noteThreadCount();
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

/// Every thread that comes holds its piece until `wanted` have come: otherwise
/// a fast one could leave nothing for the others.
struct Gathering {
  size_t wanted;
  std::mutex mutex;
  std::condition_variable arrived;
  std::set<std::thread::id> threads;

  static void wait(int64_t, int64_t, void *data) {
    auto &all = *static_cast<Gathering *>(data);
    std::unique_lock lock(all.mutex);
    all.threads.insert(std::this_thread::get_id());
    all.arrived.notify_all();
    all.arrived.wait(lock, [&] { return all.threads.size() >= all.wanted; });
  }
};

/// The threads that take part in a loop, which must be at least `wanted`.
size_t threadsOfLoop(size_t wanted) {
  Gathering all{wanted, {}, {}, {}};
  parallelFor(300, 1, Gathering::wait, &all);
  return all.threads.size();
}

TEST(ParallelFor, UsesAsManyThreadsAsTorchMay) {
  at::set_num_threads(3);
  noteThreadCount();
  EXPECT_EQ(threadsOfLoop(3), 3u);
  at::set_num_threads(1);
  noteThreadCount();
  EXPECT_EQ(threadsOfLoop(1), 1u);
}

TEST(ParallelFor, WaitsForNoThreadThatTookNothing) {
  at::set_num_threads(2);
  noteThreadCount();
  // The first piece ends only when all others have: one thread does those.
  struct Loop {
    std::atomic<int64_t> others{0};
    int64_t n = 0;
  } loop;
  for (loop.n = 2; loop.n <= 64; loop.n *= 2) {
    loop.others = 0;
    parallelFor(
        loop.n, 1,
        [](int64_t begin, int64_t end, void *data) {
          auto &loop = *static_cast<Loop *>(data);
          if (begin > 0)
            loop.others += end - begin;
          else
            while (loop.others + end < loop.n)
              std::this_thread::yield();
        },
        &loop);
    EXPECT_EQ(loop.others + (loop.n + 15) / 16, loop.n);
  }
}

TEST(ParallelFor, LoopsOfOneProgramSeeWhatTheOnesBeforeWrote) {
  at::set_num_threads(4);
  noteThreadCount();
  constexpr int64_t n = 1000;
  std::vector<int64_t> values(n, 0);
  // Each loop reads what another thread may have written in the one before.
  auto turn = [](int64_t begin, int64_t end, void *data) {
    auto &values = *static_cast<std::vector<int64_t> *>(data);
    for (int64_t i = begin; i < end; ++i)
      values[i] = values[i] + 1;
  };
  auto mirror = [](int64_t begin, int64_t end, void *data) {
    auto &values = *static_cast<std::vector<int64_t> *>(data);
    for (int64_t i = begin; i < end; ++i)
      std::swap(values[i], values[n - 1 - i]);
  };
  std::thread([&] {
    stayAlone(false);
    for (int round = 0; round < 2000; ++round) {
      parallelFor(n, 1, turn, &values);
      parallelFor(n / 2, 1, mirror, &values);
      values[round % n] += 1; // the leader's own, between loops
    }
  }).join();
  int64_t total = 0;
  for (int64_t value : values)
    total += value;
  EXPECT_EQ(total, 2000 * n + 2000);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 2005);
}

TEST(ParallelFor, LeavesItsThreadsToAten) {
  at::set_num_threads(3);
  noteThreadCount();
  std::thread([] {
    stayAlone(false);
    EXPECT_EQ(threadsOfLoop(3), 3u);
    lendThreads();
    EXPECT_FALSE(at::in_parallel_region());
    EXPECT_EQ(at::get_num_threads(), 3);
    EXPECT_EQ(threadsOfLoop(3), 3u);
    stayAlone(true);
    EXPECT_EQ(threadsOfLoop(1), 1u);
    EXPECT_TRUE(at::in_parallel_region());
    lendThreads();
    EXPECT_FALSE(at::in_parallel_region());
    EXPECT_EQ(at::get_num_threads(), 1);
    stayAlone(false);
    EXPECT_EQ(threadsOfLoop(3), 3u);
  }).join();
}

/// How many threads of the process have this name, as soon as it is `wanted`.
size_t threadsNamed(const std::string &name, size_t wanted) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (size_t count = 0;; count = 0) {
    for (auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string found;
      std::getline(std::ifstream(task.path() / "comm"), found);
      count += found == name;
    }
    if (count == wanted || std::chrono::steady_clock::now() > deadline)
      return count;
    std::this_thread::yield();
  }
}

TEST(ParallelFor, AThreadAtRestKeepsNoOthers) {
  at::set_num_threads(3);
  noteThreadCount();
  std::thread([] {
    const char *name = "at-rest"; // which its team's threads inherit
    pthread_setname_np(pthread_self(), name);
    stayAlone(false);
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(threadsOfLoop(3), 3u);
      EXPECT_EQ(threadsNamed(name, 3), 3u);
      rest();
      EXPECT_EQ(waitingTeam().team, nullptr);
      EXPECT_EQ(threadsNamed(name, 1), 1u);
    }
  }).join();
}

TEST(ParallelFor, AFewElementsThatAtenMovesLeaveTheRegionOpen) {
  at::set_num_threads(2);
  noteThreadCount();
  std::thread([] {
    stayAlone(false);
    for (int64_t width : {8, 1 << 15}) {
      at::Tensor x = at::randn({4, width}), row = at::randn({1, width});
      at::Tensor place = at::tensor({2}, at::kLong);
      test::KernelCall kernel(
          "aten::index_copy(self=%0, dim=0, index=%1, source=%2)",
          {x, place, row}, {x});
      kernel.results = {x};
      EXPECT_EQ(threadsOfLoop(2), 2u);
      ASSERT_TRUE(kernel.run());
      EXPECT_TRUE(test::same(x.slice(0, 2, 3), row)); // the rest was cleared
      EXPECT_EQ(at::in_parallel_region(), width == 8);
    }
  }).join();
}

TEST(ParallelFor, ABorrowedThreadStaysAloneAndKeepsItsSettings) {
  std::thread([] {
    at::set_num_threads(3);
    noteThreadCount();
    volatile float tiny = 1e-39f, one = 1;
    at::globalContext().setFlushDenormal(true);
    EXPECT_EQ(tiny * one, 0);
    for (bool callsAten : {false, true}) {
      borrowThread(true);
      EXPECT_NE(tiny * one, 0);
      EXPECT_EQ(threadsOfLoop(1), 1u);
      if (callsAten) {
        lendThreads();
        lendThreads();
        EXPECT_EQ(at::get_num_threads(), 1);
      }
      borrowThread(false);
      EXPECT_EQ(tiny * one, 0);
      EXPECT_EQ(at::get_num_threads(), 3);
    }
    at::globalContext().setFlushDenormal(false);
    EXPECT_EQ(threadsOfLoop(3), 3u);
  }).join();
}

TEST(ParallelFor, ABorrowedThreadMayHaveTheHelpOfAWaitingTeam) {
  at::set_num_threads(3);
  noteThreadCount();
  std::atomic<bool> isDone{false};
  std::promise<ltc::WaitingTeam> waiting;
  std::thread leader([&] {
    stayAlone(false);
    EXPECT_EQ(waitingTeam().team, nullptr);
    EXPECT_EQ(threadsOfLoop(3), 3u);
    waiting.set_value(waitingTeam());
    isDone.wait(false);
    EXPECT_EQ(threadsOfLoop(3), 3u); // it has them back
    lendThreads();
    EXPECT_EQ(waitingTeam().team, nullptr);
  });
  ltc::WaitingTeam team = waiting.get_future().get();
  EXPECT_EQ(team.threads, 3u);
  for (int round = 0; round < 100; ++round) {
    borrowThread(true, team);
    EXPECT_EQ(threadsOfLoop(3), 3u);
    EXPECT_FALSE(at::in_parallel_region());
    borrowThread(false);
  }
  borrowThread(true);
  EXPECT_EQ(threadsOfLoop(1), 1u);
  borrowThread(false);
  isDone = true;
  isDone.notify_one();
  leader.join();
}

TEST(ParallelFor, LeavesNoRegionOpenOnAThreadThatRunsNoPrograms) {
  at::set_num_threads(3);
  noteThreadCount();
  EXPECT_EQ(threadsOfLoop(3), 3u);
  EXPECT_FALSE(at::in_parallel_region());
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
    noteThreadCount();
    used = threadsOfLoop(3);
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
    before = threadsOfLoop(2);
    std::thread([] {
      at::set_num_threads(3);
      noteThreadCount();
    }).join();
    after = threadsOfLoop(3);
  }).join();
  EXPECT_EQ(before, 2u);
  EXPECT_EQ(after, 3u);
}

TEST(ParallelFor, NestedLoopsAreSerial) {
  at::set_num_threads(3);
  noteThreadCount();
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
