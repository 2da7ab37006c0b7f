//===- profile_test.cpp - Parts, steps, syncs and runs --------------------===//
//---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/profile.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <thread>

using namespace ltc;
using namespace ltc::profile;

namespace {

int64_t sum(const Parts &parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t(0));
}

void spendTime() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

void launch(Hash128 key) {
  nameRun(key, 3, 2, 1);
  uint64_t run = submitRun();
  beginRun(run);
  endRun(run);
}

/// One that ends a step.
void sync(Cause cause = Cause::MarkStep, SourceId place = 0) {
  ASSERT_TRUE(beginSync(cause, "", place));
  launch({1, 2});
  endSync();
}

TEST(Profile, TimeGoesToTheInnermostPartAlone) {
  ASSERT_TRUE(begin());
  {
    Timed outer(Part::Graph);
    Timed inner(Part::Compile);
    spendTime();
  }
  Profile found = end();
  ASSERT_EQ(found.steps.size(), 1u);
  const Step &step = found.steps[0];
  EXPECT_FALSE(step.isWhole);
  EXPECT_GE(step.parts[size_t(Part::Compile)], 2'000'000);
  EXPECT_LT(step.parts[size_t(Part::Graph)], step.parts[size_t(Part::Compile)]);
  EXPECT_LE(sum(step.parts), step.end - step.start);
}

TEST(Profile, ASyncEndsAStepIfItsCauseDoesAndAGraphWasLaunched) {
  ASSERT_TRUE(begin());
  sync(Cause::Item);
  ASSERT_TRUE(beginSync(Cause::MarkStep, "", 7)); // ends the step of that graph
  endSync();
  ASSERT_TRUE(beginSync(Cause::MarkStep, "", 8)); // nothing since
  endSync();
  sync(Cause::OptimizerStep, 9);
  Profile found = end();
  ASSERT_EQ(found.steps.size(), 3u);
  EXPECT_EQ(found.steps[0].place, 7u);
  EXPECT_EQ(found.steps[1].place, 9u);
  EXPECT_EQ(found.steps[0].end, found.steps[1].start);
  EXPECT_FALSE(found.steps[2].isWhole);
  // Those that did nothing are left out.
  ASSERT_EQ(found.syncs.size(), 2u);
  EXPECT_EQ(found.syncs[0].cause, Cause::Item);
  EXPECT_EQ(found.syncs[0].graphs, 1u);
}

TEST(Profile, TheOutermostSyncCounts) {
  ASSERT_TRUE(begin());
  ASSERT_TRUE(beginSync(Cause::Fallback, "aten::nonzero", 3));
  EXPECT_FALSE(beginSync(Cause::MarkStep, "", 4));
  launch({1, 2});
  endSync();
  Profile found = end();
  ASSERT_EQ(found.syncs.size(), 1u);
  EXPECT_EQ(found.syncs[0].detail, "aten::nonzero");
  EXPECT_EQ(found.steps.size(), 1u); // no step ended
}

TEST(Profile, ARunOfAnEarlierProfileIsForgotten) {
  ASSERT_TRUE(begin());
  nameRun({1, 2}, 3, 2, 1);
  uint64_t run = submitRun();
  EXPECT_EQ(openRuns(), 1u);
  Profile first = end();
  ASSERT_EQ(first.runs.size(), 1u);
  EXPECT_EQ(first.runs[0].ended, 0);
  ASSERT_TRUE(begin());
  nameRun({3, 4}, 3, 2, 1);
  submitRun();
  endRun(run);
  EXPECT_EQ(openRuns(), 1u);
  EXPECT_EQ(end().runs[0].ended, 0);
}

TEST(Profile, OneIsOnAtATime) {
  ASSERT_TRUE(begin());
  EXPECT_FALSE(begin());
  end();
  EXPECT_FALSE(isOn());
}

TEST(Profile, APartThatOutlivesItsProfileCountsNowhere) {
  ASSERT_TRUE(begin());
  std::optional<Timed> part(std::in_place, Part::Wait);
  end();
  ASSERT_TRUE(begin());
  spendTime();
  part.reset();
  Profile found = end();
  EXPECT_EQ(sum(found.steps[0].parts), 0);
  EXPECT_TRUE(found.events.empty());
}

TEST(Profile, RowsThatAreTooManyAreCounted) {
  constexpr size_t kMost = 200'000; // of each kind
  ASSERT_TRUE(begin());
  for (size_t i = 0; i < kMost + 10; ++i)
    launch({1, 2});
  EXPECT_EQ(openRuns(), 0u);
  Profile found = end();
  EXPECT_EQ(found.runs.size(), kMost);
  EXPECT_EQ(found.dropped, 10u);
}

TEST(Profile, ThreadsHaveStepsOfTheirOwn) {
  ASSERT_TRUE(begin());
  std::thread([] { sync(); }).join();
  sync();
  Profile found = end();
  ASSERT_EQ(found.steps.size(), 3u);
  EXPECT_NE(found.steps[0].thread, found.steps[1].thread);
  EXPECT_EQ(found.steps[1].thread, found.steps[2].thread);
}

} // namespace
