//===- work_pool.h - Threads that compile parts of a graph ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/Support/ThreadPool.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ltc::compiler {

/// A pool in which a thread that waits for tasks runs them, too. LLVM's own has
/// one thread more, which costs what the heap keeps for it: the one that waits
/// has done the rest of the compile, and so has memory for this. And where no
/// thread can be had, LLVM's ends the process.
class WorkPool final : public llvm::ThreadPoolInterface {
public:
  /// Of so many threads with the one that waits; the others start when there
  /// are tasks, and call `threadEnds` last, if there is one.
  WorkPool(unsigned threads, std::function<void()> threadEnds)
      : threads(threads), threadEnds(std::move(threadEnds)) {}
  /// Runs what is left.
  ~WorkPool() override;

  void wait() override { runUntilDone(kAll); }
  /// Any thread; inside a task, too.
  void wait(llvm::ThreadPoolTaskGroup &group) override { runUntilDone(&group); }
  unsigned getMaxConcurrency() const override { return threads; }

private:
  /// Whose tasks somebody waits for.
  using Group = const llvm::ThreadPoolTaskGroup *;
  static constexpr Group kAll = nullptr;
  struct Task {
    llvm::unique_function<void()> run;
    Group group;
  };

  void asyncEnqueue(llvm::unique_function<void()> run,
                    llvm::ThreadPoolTaskGroup *group) override;
  void runUntilDone(Group group);
  void work();
  /// Runs the first task of the group; false if none has yet to be begun.
  bool runOne(Group group, std::unique_lock<std::mutex> &lock);

  const unsigned threads;
  const std::function<void()> threadEnds;
  std::mutex mutex;                ///< guards all below
  std::condition_variable changed; ///< a task came or ended, or all ends
  std::deque<Task> tasks;          ///< not yet begun
  std::vector<Group> running;      ///< of each task that has begun
  bool ending = false;
  std::vector<std::thread> workers;
};

} // namespace ltc::compiler
