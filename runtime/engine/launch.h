//===- launch.h - One run of a program, in the queue ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/queue.h"
#include "engine/loop_meter.h"
#include "engine/program.h"

#include "ltc/kernels.h"

namespace ltc::runtime {

/// Scratch memory of a queue, kept between runs and grown. For whoever runs
/// the queue's work.
class Arena {
public:
  /// At least `bytes`; nullptr when 0.
  Result<ltc_buffer *> reserve(Device &device, size_t bytes);
  void release() { *this = Arena(); }
  /// Its contents are dead between two launches: lets the pages go, not the
  /// address.
  void discard();

private:
  Memory memory;
  size_t size = 0;
};

/// Every failure, until somebody has seen it. Any thread.
class FailureLog {
public:
  void add(FailurePtr failure);
  /// The first one that nobody has seen. Forgets all; logs what it drops.
  FailurePtr takeFirstUnseen();

private:
  std::mutex mutex;
  std::vector<FailurePtr> failures;
};

/// What the launches of one queue share.
struct LaunchState {
  Arena arena;
  FailureLog failures;
  std::atomic<size_t> inFlight = 0;
  std::atomic<uint64_t> builds = 0; ///< graphs compiled or loaded
  LoopMeter loop;
  /// When the last launch was handed over.
  std::atomic<Completion::Clock::time_point> handed{};
  /// Of the queue's own thread, while it runs nothing. For whoever runs the
  /// queue's work, and under the queue's lock while nobody does.
  WaitingTeam team;

  /// On the queue's own thread, under the queue's lock.
  void rest();
};

class DiscardArena final : public Work {
public:
  explicit DiscardArena(Arena &arena) : arena(arena) {}
  void run(bool) override { arena.discard(); }

private:
  Arena &arena;
};

using DeviceBufferPtr = std::shared_ptr<DeviceBuffer>;

struct ScalarOrBuffer {
  DeviceBufferPtr buffer; ///< null for a scalar
  uint64_t bits = 0;
};

/// Keeps its program and its buffers alive until it has run.
class Launch final : public Work {
public:
  Launch(LaunchState &state, std::shared_ptr<BoundProgram> bound,
         std::vector<ScalarOrBuffer> arguments,
         std::vector<DeviceBufferPtr> results,
         std::shared_ptr<Completion> completion,
         std::shared_ptr<const void> kept, WaitHabit::Duration sinceLaunch);
  bool isShort() const override {
    return bound->threads.isShort(expected(), pool());
  }
  void queued() override {
    ++state.inFlight;
    bound->habit.add(completion, sinceLaunch);
    launcher = expected();
  }
  void run(bool borrows) override;

private:
  Pool pool() const;
  /// By the habit so far. Under the queue's lock.
  Launcher expected() const {
    return {bound->habit.untilWaiting(), bound->habit.beside()};
  }
  FailurePtr failedInput() const;
  FailurePtr fail(Error error);
  /// After a failure: gives arguments back the memory that they donated, unless
  /// it was written to.
  void undo();
  /// Says once a loop who waits for whom, if that is logged.
  void measureLoop();
  Status execute(bool borrows);
  /// Runs on one thread or on all, as the program's ThreadChoice says.
  Status runMeasured(const std::vector<ltc_operand> &operands,
                     ltc_buffer *arena, int64_t &site);
  Status runBorrowing(const std::vector<ltc_operand> &operands,
                      ltc_buffer *arena, int64_t &site);
  Status allocateResults();
  Error atSite(Error error, int64_t site);

  LaunchState &state;
  std::shared_ptr<BoundProgram> bound;
  std::vector<ScalarOrBuffer> arguments;
  std::vector<DeviceBufferPtr> results;
  std::shared_ptr<Completion> completion;
  std::shared_ptr<const void> kept;
  WaitHabit::Duration sinceLaunch; ///< since the launch before it
  Launcher launcher;
  /// Whether an input's error had been delivered when this was launched.
  const bool isTold;
  /// Whether donated memory may hold parts of results after a failure.
  bool spoilt = false;
  uint64_t profiled = 0; ///< its number in a profile
};

} // namespace ltc::runtime
