//===- thread_choice_test.cpp - One thread, or all, for a program ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/thread_choice.h"
#include "engine/wait_habit.h"

#include <gtest/gtest.h>

using ltc::runtime::ThreadChoice;
using std::chrono::microseconds;

/// A choice that has seen one run of each of these CPU and wall times.
static ThreadChoice
after(std::initializer_list<std::pair<microseconds, microseconds>> runs) {
  ThreadChoice choice;
  for (auto [cpu, wall] : runs)
    choice.record({}, {cpu, wall});
  return choice;
}

TEST(ThreadChoice, AShortProgramIsMeasuredFirst) {
  EXPECT_FALSE(ThreadChoice().isShort());
  EXPECT_FALSE(after({{microseconds(3), microseconds(3)}}).isShort());
  ThreadChoice twice = after({{microseconds(90), microseconds(90)},
                              {microseconds(3), microseconds(3)}});
  EXPECT_TRUE(twice.isShort());
  EXPECT_TRUE(twice.alone());
}

TEST(ThreadChoice, ADeviceThatWorksWhileTheThreadWaitsIsNotShort) {
  ThreadChoice choice = after({{microseconds(3), microseconds(500)},
                               {microseconds(3), microseconds(500)}});
  EXPECT_TRUE(choice.alone());
  EXPECT_FALSE(choice.isShort());
}

TEST(ThreadChoice, WhatIsNotLongIsMeasuredAFewTimesMore) {
  ThreadChoice choice;
  int runs = 0;
  for (; choice.isMeasuring(); ++runs)
    choice.record({}, {microseconds(5), microseconds(runs < 4 ? 50 : 5)});
  EXPECT_GT(runs, 4);
  EXPECT_LT(runs, 20);
  EXPECT_TRUE(choice.isShort());
}

TEST(ThreadChoice, NoTimeDecidesWhereAThreadMoreMayRoundOtherwise) {
  for (auto [expected, alone] : {std::pair(microseconds(10), true),
                                 std::pair(microseconds(10000), false)})
    for (auto took : {microseconds(3), microseconds(5000)}) {
      ThreadChoice choice(expected);
      for (int run = 0; run < 20; ++run) {
        EXPECT_EQ(choice.alone(), alone);
        choice.record({}, {took, took});
      }
      EXPECT_EQ(choice.alone(), alone);
      EXPECT_EQ(choice.isShort(), alone && took == microseconds(3));
    }
}

TEST(ThreadChoice, ALongProgramGetsAllThreads) {
  ThreadChoice choice = after({{microseconds(5000), microseconds(5000)},
                               {microseconds(4000), microseconds(4000)}});
  EXPECT_FALSE(choice.alone());
  EXPECT_FALSE(choice.isShort());
  EXPECT_FALSE(choice.isMeasuring());
}

TEST(ThreadChoice, WhatIsLonelyMayTakeLonger) {
  ThreadChoice choice = after({{microseconds(60), microseconds(60)},
                               {microseconds(60), microseconds(60)}});
  EXPECT_FALSE(choice.isShort());
  EXPECT_TRUE(choice.isShort(/*lonely=*/true));
  ThreadChoice longer = after({{microseconds(500), microseconds(500)},
                               {microseconds(500), microseconds(500)}});
  EXPECT_FALSE(longer.isShort(/*lonely=*/true));
}

/// A run that was handed over, and for which somebody waited or did not.
static std::shared_ptr<ltc::runtime::Completion> completion(bool awaited) {
  auto made = std::make_shared<ltc::runtime::Completion>();
  made->finish(nullptr);
  if (awaited) // before it: then the test does not depend on time
    made->wait();
  made->handOver();
  return made;
}

TEST(WaitHabit, NeedsMoreThanOneWaitAndEndsWithoutOne) {
  ltc::runtime::WaitHabit habit;
  habit.add(completion(true));
  EXPECT_FALSE(habit.holds());
  habit.add(completion(true));
  EXPECT_FALSE(habit.holds());
  habit.add(completion(true));
  EXPECT_TRUE(habit.holds());
  habit.add(completion(false));
  EXPECT_TRUE(habit.holds());
  habit.add(completion(true));
  EXPECT_FALSE(habit.holds());
}

TEST(WaitHabit, TheNextLaunchCountsAsAWait) {
  ltc::runtime::WaitHabit habit;
  habit.add(completion(false), /*follows=*/true);
  habit.add(completion(false), /*follows=*/true);
  EXPECT_FALSE(habit.holds());
  habit.add(completion(false), /*follows=*/true);
  EXPECT_TRUE(habit.holds());
  habit.add(completion(false), /*follows=*/false);
  EXPECT_FALSE(habit.holds());
}
