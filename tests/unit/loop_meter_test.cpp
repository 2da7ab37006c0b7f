//===- loop_meter_test.cpp - Who waits for whom in a loop -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/loop_meter.h"

#include <gtest/gtest.h>

#include <vector>

using namespace ltc::runtime;
using std::chrono::milliseconds;

namespace {

/// A queue with a clock of its own.
struct Loop {
  LoopMeter meter;
  LoopMeter::Clock::time_point now{};
  uint64_t builds = 0;
  std::vector<LoopPace> said;

  void launch(LoopWindow &program, int idle, int busy) {
    now += milliseconds(idle);
    if (auto pace = meter.begin(program, now, builds))
      said.push_back(*pace);
    now += milliseconds(busy);
    meter.end(now);
  }
};

TEST(LoopMeter, SaysTheShareOnceAfterSomeSteadySteps) {
  Loop loop;
  LoopWindow program;
  for (int i = 0; i < 9; ++i)
    loop.launch(program, 1000, 1); // the first steps do not count
  for (int i = 0; i < 32; ++i)
    loop.launch(program, 3, 1);
  EXPECT_TRUE(loop.said.empty());
  for (int i = 0; i < 100; ++i)
    loop.launch(program, 3, 1);
  ASSERT_EQ(loop.said.size(), 1u);
  EXPECT_DOUBLE_EQ(loop.said[0].idleShare, 0.75);
  EXPECT_EQ(loop.said[0].step, milliseconds(4));
  EXPECT_TRUE(loop.said[0].isHostBound());
}

TEST(LoopMeter, ABusyQueueIsDeviceBound) {
  Loop loop;
  LoopWindow program;
  for (int i = 0; i < 50; ++i)
    loop.launch(program, 0, 7);
  ASSERT_EQ(loop.said.size(), 1u);
  EXPECT_EQ(loop.said[0].idleShare, 0);
  EXPECT_FALSE(loop.said[0].isHostBound());
}

TEST(LoopMeter, GraphsOfOneStepAreOneLoop) {
  Loop loop;
  LoopWindow forward, update;
  for (int i = 0; i < 100; ++i) {
    loop.launch(forward, 1, 4);
    loop.launch(update, 2, 3);
  }
  ASSERT_EQ(loop.said.size(), 1u);
  EXPECT_DOUBLE_EQ(loop.said[0].idleShare, 0.3);
  EXPECT_EQ(loop.said[0].step, milliseconds(10));
}

TEST(LoopMeter, ALaterLoopIsSaidToo) {
  Loop loop;
  LoopWindow training, serving;
  for (int i = 0; i < 100; ++i)
    loop.launch(training, 1, 4);
  for (int i = 0; i < 100; ++i)
    loop.launch(serving, 4, 1);
  ASSERT_EQ(loop.said.size(), 2u);
  EXPECT_FALSE(loop.said[0].isHostBound());
  EXPECT_TRUE(loop.said[1].isHostBound());
}

TEST(LoopMeter, CountsNoFurtherThanItNeeds) {
  Loop loop;
  LoopWindow program;
  for (int i = 0; i < 200; ++i)
    loop.launch(program, 3, 1);
  EXPECT_EQ(program.launches, 43);
  EXPECT_EQ(loop.said.size(), 1u);
}

TEST(LoopMeter, ACompileStartsTheCountAgain) {
  Loop loop;
  LoopWindow program;
  for (int i = 0; i < 30; ++i)
    loop.launch(program, 1, 1);
  ++loop.builds;
  loop.launch(program, 5000, 1);
  for (int i = 0; i < 40; ++i)
    loop.launch(program, 1, 1);
  EXPECT_TRUE(loop.said.empty());
  loop.launch(program, 1, 1);
  ASSERT_EQ(loop.said.size(), 1u);
  EXPECT_DOUBLE_EQ(loop.said[0].idleShare, 0.5);
}

} // namespace
