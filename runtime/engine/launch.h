//===- launch.h - One run of a program, in the queue ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/queue.h"
#include "engine/loop_meter.h"
#include "engine/preparation.h"

#include "ltc/kernels.h"

namespace ltc::runtime {

/// Scratch memory of a queue, kept between runs and grown. For whoever runs
/// the queue's work.
class Arena {
public:
  bool has(size_t bytes) const { return bytes <= size; }
  /// At least `bytes`; nullptr when 0. Nothing uses what it grows from.
  Result<ltc_buffer *> reserve(Device &device, size_t bytes);
  void release() { *this = Arena(); }
  size_t bytes() const { return size; }
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
  bool isAsynchronous = false; ///< the device is; never changes
  Arena arena;
  HostMemory staging;  ///< for host calls
  size_t onDevice = 0; ///< launches that it goes on with; of the queue's thread
  FailureLog failures;
  std::atomic<size_t> inFlight = 0;
  std::atomic<uint64_t> builds = 0; ///< graphs compiled or loaded
  LoopMeter loop;
  /// Until when the device's time is counted. Of whoever runs the queue's work.
  LoopMeter::Clock::time_point busyUntil{};
  /// When the last launch was handed over.
  std::atomic<Completion::Clock::time_point> handed{};
  /// Of the queue's own thread, while it runs nothing. For whoever runs the
  /// queue's work, and under the queue's lock while nobody does.
  WaitingTeam team;

  /// Counts the time to `end` in which the device ran what began at `start`,
  /// and nothing before it.
  void countBusy(LoopMeter::Clock::time_point start,
                 LoopMeter::Clock::time_point end);
  /// Counts a run that failed, and keeps its error for synchronize().
  FailurePtr fail(Error error);
  /// On the queue's own thread, under the queue's lock.
  void rest();
};

class DiscardArena final : public Work {
public:
  explicit DiscardArena(Arena &arena) : arena(arena) {}
  Progress run(bool) override {
    arena.discard();
    return Progress::Done;
  }

private:
  Arena &arena;
};

struct ScalarOrBuffer {
  DeviceBufferPtr buffer; ///< null for a scalar
  uint64_t bits = 0;
};

/// Keeps its program and its buffers alive until it has run.
class Launch final : public Work {
public:
  Launch(LaunchState &state, RunShape shape,
         std::vector<ScalarOrBuffer> arguments,
         std::vector<DeviceBufferPtr> results,
         std::shared_ptr<Completion> completion,
         std::shared_ptr<const void> kept, WaitHabit::Duration sinceLaunch);
  bool isShort() const override {
    return !state.isAsynchronous && bound->threads.isShort(expected(), pool());
  }
  void queued() override {
    ++state.inFlight;
    bound->habit.add(completion, sinceLaunch);
    launcher = expected();
  }
  Progress run(bool borrows) override;
  bool mayOverlap() const override;
  bool isDone(std::chrono::nanoseconds time) override {
    return fence.reached(time);
  }
  bool succeeds() override;
  void takeBack() override;
  void finish() override;

private:
  Pool pool() const;
  /// By the habit so far. Under the queue's lock.
  Launcher expected() const {
    return {bound->habit.untilWaiting(), bound->habit.beside()};
  }
  FailurePtr failedInput() const;
  /// Gives arguments back the memory that they donated, unless it was written
  /// to.
  void giveBack();
  /// What `fault` is to whoever waits for the results; nullptr for none.
  FailurePtr asFailure();
  /// Lets everything go; results are ready, or have failed.
  void complete(FailurePtr failure);
  /// Says once a loop who waits for whom, if that is logged.
  void measureLoop();
  /// Runs it, or lets the device begin; `fault` is what it came to.
  Progress attempt(bool borrows);
  /// Makes or takes over the memory of the results and gathers the operands.
  Status prepare();
  void gatherOperands();
  void setOperand(size_t index, ltc_buffer *buffer, const TensorType &type,
                  uint64_t bits);
  /// Whether there is no memory for it, but may be once the device is done with
  /// what it goes on with.
  bool mustWait(const Status &prepared) const;
  std::vector<ltc_operand> &operands() {
    return shape.prepared ? shape.prepared->operands : ownOperands;
  }
  ltc_launch wholeProgram();
  /// On the thread that the program's ThreadChoice says.
  std::optional<Fault> execute(bool borrows);
  std::optional<Fault> runMeasured(const ltc_launch &launch);
  std::optional<Fault> runBorrowing(const ltc_launch &launch);
  /// All at once, or where a profile times them one after the other.
  std::optional<Fault> runSteps(ltc_launch launch);
  std::optional<Fault> runStepByStep(ltc_launch launch);
  /// Tells a profile of results that are not numbers.
  void checkNumbers();
  /// Queues it on the device, with a fence behind it.
  std::optional<Fault> start();
  /// Queues its parts in turn, with the host's library calls between them.
  std::optional<Fault> runWithHostCalls();
  Status allocateResults();
  /// Names the op whose result has no memory.
  Error ofRefused(Error error) const;
  Error atSite(Error error, int64_t site);

  LaunchState &state;
  RunShape shape;
  std::shared_ptr<BoundProgram> bound;
  std::vector<ScalarOrBuffer> arguments; ///< of this run, as in `shape`
  std::vector<DeviceBufferPtr> results;
  std::shared_ptr<Completion> completion;
  std::shared_ptr<const void> kept;
  WaitHabit::Duration sinceLaunch; ///< since the launch before it
  Launcher launcher;
  std::vector<ltc_operand> ownOperands; ///< where none are prepared
  ltc_buffer *arena = nullptr;
  std::optional<size_t> refused; ///< the result that there is no memory for
  LoopMeter::Clock::time_point begun; ///< its run
  bool hasBegun = false;              ///< whether it may have written anything
  bool isAlone = false;       ///< whether it waits for the launches before it
  Fence fence;                ///< behind it, while the device goes on with it
  std::optional<Fault> fault; ///< what it then came to
  /// Whether an input's error had been delivered when this was launched.
  const bool isTold;
  /// Whether donated memory may hold parts of results after a failure.
  bool spoilt = false;
  uint64_t profiled = 0; ///< its number in a profile
  /// Of the thread that launched it, for another library's profiler.
  std::shared_ptr<const void> context;
  bool isTimed = false; ///< whether its steps are timed for that
  std::vector<int64_t> stepTimes;
};

} // namespace ltc::runtime
