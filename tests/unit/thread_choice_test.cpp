//===- thread_choice_test.cpp - One thread, or all, for a program ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/thread_choice.h"
#include "engine/wait_habit.h"

#include <gtest/gtest.h>

using ltc::runtime::Pool;
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

using ltc::runtime::Launcher;

/// Two runs of so long.
static ThreadChoice ofLength(int time) {
  return after({{microseconds(time), microseconds(time)},
                {microseconds(time), microseconds(time)}});
}

TEST(ThreadChoice, WhatIsAwaitedMayTakeLongerOnTheThreadThatLaunches) {
  Launcher waits{microseconds(2), microseconds(2)};
  EXPECT_FALSE(ofLength(60).isShort());
  EXPECT_TRUE(ofLength(60).isShort(waits));
  EXPECT_FALSE(ofLength(500).isShort(waits));
}

TEST(ThreadChoice, WhatIsFollowedAtOnceGetsAllThreadsOrStaysWhereItIsLaunched) {
  Launcher follows{ThreadChoice::Time::max(), microseconds(8)};
  EXPECT_FALSE(ofLength(60).isShort(follows, Pool::Asleep));
  EXPECT_FALSE(ofLength(60).alone(follows));
  EXPECT_TRUE(ofLength(60).isShort(follows, Pool::None));
  EXPECT_FALSE(ofLength(20).isShort(follows, Pool::Asleep));
  EXPECT_FALSE(ofLength(20).alone(follows));
  EXPECT_TRUE(ofLength(8).isShort(follows, Pool::Asleep));
  EXPECT_TRUE(ofLength(8).alone(follows));
}

TEST(ThreadChoice, AWaitingPoolHelpsTheThreadThatLaunches) {
  Launcher follows{ThreadChoice::Time::max(), microseconds(8)};
  Launcher waits{microseconds(2), microseconds(2)};
  for (Launcher launcher : {follows, waits}) {
    for (int time : {20, 60, 500}) {
      EXPECT_TRUE(ofLength(time).splits(launcher, Pool::Waiting));
      EXPECT_TRUE(ofLength(time).isShort(launcher, Pool::Waiting));
      EXPECT_FALSE(ofLength(time).splits(launcher, Pool::Asleep));
    }
    EXPECT_FALSE(ofLength(500).isShort(launcher, Pool::Asleep));
    for (int time : {8, 2000})
      EXPECT_FALSE(ofLength(time).splits(launcher, Pool::Waiting));
    EXPECT_FALSE(ofLength(2000).isShort(launcher, Pool::Waiting));
  }
  Launcher records{ThreadChoice::Time::max(), microseconds(100)};
  EXPECT_FALSE(ofLength(500).splits(records, Pool::Waiting));
  EXPECT_FALSE(ofLength(500).isShort(records, Pool::Waiting));
}

TEST(ThreadChoice, NoPoolHelpsWhereAThreadMoreMayRoundOtherwise) {
  ThreadChoice choice(microseconds(500));
  for (int run = 0; run < 20; ++run)
    choice.record({}, {microseconds(60), microseconds(60)});
  Launcher waits{microseconds(2), microseconds(2)};
  EXPECT_FALSE(choice.splits(waits, Pool::Waiting));
}

TEST(ThreadChoice, TheRecordingOfTheNextStepTakesAThread) {
  EXPECT_TRUE(ofLength(500).alone());
  for (auto [time, alone] : {std::pair(400, true), std::pair(100, false)}) {
    Launcher records{ThreadChoice::Time::max(), microseconds(time)};
    EXPECT_EQ(ofLength(500).alone(records), alone);
  }
  Launcher waits{microseconds(1), microseconds(1)};
  EXPECT_FALSE(ofLength(500).alone(waits));
  EXPECT_FALSE(ofLength(500).isShort(waits));
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

using ltc::runtime::WaitHabit;
constexpr auto kNever = WaitHabit::Duration::max();

TEST(WaitHabit, NeedsMoreThanOneWaitAndEndsWithoutOne) {
  WaitHabit habit;
  for (int i = 0; i < 2; ++i) {
    habit.add(completion(true));
    EXPECT_EQ(habit.untilWaiting(), kNever);
  }
  habit.add(completion(true));
  EXPECT_EQ(habit.untilWaiting().count(), 0);
  EXPECT_EQ(habit.beside(), kNever);
  habit.add(completion(false));
  EXPECT_EQ(habit.beside().count(), 0);
  EXPECT_EQ(habit.untilWaiting().count(), 0);
  habit.add(completion(true));
  EXPECT_EQ(habit.untilWaiting(), kNever);
}

TEST(WaitHabit, TheNextLaunchEndsWhatRunsBeside) {
  WaitHabit habit;
  auto run = [&](std::initializer_list<int> times) {
    for (int time : times)
      habit.add(completion(false), microseconds(time));
    return habit.beside();
  };
  EXPECT_EQ(run({0, 9, 7}), kNever); // too few, the first of which ends nothing
  EXPECT_EQ(run({8}), microseconds(9));
  EXPECT_EQ(run({7, 8}), microseconds(8));
  EXPECT_EQ(run({500, 500}), microseconds(8)); // no habit yet
  EXPECT_EQ(run({500}), microseconds(500));
  EXPECT_EQ(habit.untilWaiting(), kNever);
}
