//===- deferrals_test.cpp - Graphs that are not compiled yet --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/deferrals.h"

#include <gtest/gtest.h>

using namespace ltc;
using runtime::Deferrals;

namespace {

Hash128 key(uint64_t number) { return Hasher().add(number).finish(); }

/// How often a graph runs before it is compiled.
int runsBeforeCompile(Deferrals &deferrals, uint64_t number,
                      Deferrals::Costs costs) {
  int runs = 0;
  while (deferrals.deferAgain(key(number)) ||
         deferrals.defer(key(number), key(number), costs))
    ++runs;
  return runs;
}

TEST(Deferrals, AGraphRunsUntilItHasTakenAShareOfACompile) {
  Deferrals deferrals;
  EXPECT_EQ(runsBeforeCompile(deferrals, 1, {.run = 1, .compile = 160}), 9);
}

TEST(Deferrals, EachCompiledGraphMakesTheNextOneWaitLonger) {
  Deferrals deferrals;
  int last = 0;
  for (uint64_t graph = 0; graph < 31; ++graph) {
    int runs = runsBeforeCompile(deferrals, graph, {.run = 1, .compile = 160});
    EXPECT_GT(runs, last);
    last = runs;
  }
  // Twice what a compile takes is the most.
  EXPECT_EQ(runsBeforeCompile(deferrals, 99, {.run = 1, .compile = 160}), 319);
  EXPECT_EQ(runsBeforeCompile(deferrals, 98, {.run = 1, .compile = 160}), 319);
}

TEST(Deferrals, ALongFirstRunIsCompiledAtOnce) {
  Deferrals deferrals;
  EXPECT_EQ(runsBeforeCompile(deferrals, 1, {.run = 3, .compile = 1}), 0);
  EXPECT_EQ(runsBeforeCompile(deferrals, 2, {.run = 2, .compile = 1}), 1);
}

TEST(Deferrals, GraphsOfOneStructureCountTogether) {
  Deferrals deferrals;
  int runs = 0;
  while (deferrals.defer(key(100 + runs), key(1), {.run = 1, .compile = 160}))
    ++runs;
  EXPECT_EQ(runs, 9);
  // The others look for the program.
  EXPECT_FALSE(deferrals.deferAgain(key(100)));
  EXPECT_FALSE(deferrals.isDeferred(key(100)));
  // And begin anew behind the compile.
  EXPECT_TRUE(deferrals.defer(key(1), key(1), {.run = 1, .compile = 160}));
}

/// How often each of some graphs that take turns runs before one is compiled.
int turnsBeforeCompile(uint64_t graphs, Deferrals::Costs costs) {
  Deferrals deferrals;
  for (int turns = 0;; ++turns)
    for (uint64_t graph = 0; graph < graphs; ++graph)
      if (!deferrals.deferAgain(key(graph)) &&
          !deferrals.defer(key(graph), key(graph), costs))
        return turns;
}

TEST(Deferrals, GraphsThatTakeTurnsWaitLonger) {
  Deferrals::Costs costs{.run = 1, .compile = 160};
  EXPECT_EQ(turnsBeforeCompile(1, costs), 9);
  int two = turnsBeforeCompile(2, costs), eight = turnsBeforeCompile(8, costs);
  EXPECT_NEAR(two, 2 * 9, 3);
  EXPECT_NEAR(eight, 8 * 9, 10);
  // Twice what a compile takes is the most.
  EXPECT_LE(turnsBeforeCompile(200, costs), 320);
}

TEST(Deferrals, WhatIsCompiledTakesNoTurnsAnyMore) {
  Deferrals deferrals;
  Deferrals::Costs costs{.run = 1, .compile = 160};
  EXPECT_EQ(runsBeforeCompile(deferrals, 1, costs), 9);
  EXPECT_EQ(runsBeforeCompile(deferrals, 2, costs), 19);
}

TEST(Deferrals, OnlyWhatWasDeferredIsDeferredAgain) {
  Deferrals deferrals;
  EXPECT_FALSE(deferrals.deferAgain(key(1)));
  EXPECT_TRUE(deferrals.defer(key(1), key(1), {.run = 1, .compile = 160}));
  EXPECT_TRUE(deferrals.deferAgain(key(1)));
  deferrals.clear();
  EXPECT_FALSE(deferrals.deferAgain(key(1)));
}

} // namespace
