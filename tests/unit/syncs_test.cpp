//===- syncs_test.cpp - The ledger of syncs, and guards -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/syncs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

using namespace ltc;
using namespace ltc::syncs;

namespace {

SourceId line(uint32_t number) {
  return internSource({"syncs_test.py", number, "train"});
}

std::optional<Row> rowAt(SourceId place) {
  std::vector<Row> rows = ledger();
  auto found = std::ranges::find(rows, place, &Row::place);
  return found == rows.end() ? std::nullopt : std::optional<Row>(*found);
}

Status sync(Cause cause, SourceId place, std::string_view detail = {}) {
  Status status = begin(cause, detail, place);
  if (status)
    end();
  return status;
}

TEST(Syncs, TheLedgerAddsUpOneLineOfAllThreads) {
  SourceId here = line(1);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(sync(Cause::Item, here));
  std::thread([&] { EXPECT_TRUE(sync(Cause::Item, here)); }).join();
  std::optional<Row> row = rowAt(here);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->count, 4u);
  EXPECT_EQ(row->cause, Cause::Item);
}

TEST(Syncs, WaitsCountAndCompilesDoNot) {
  using namespace std::chrono_literals;
  SourceId here = line(2);
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(begin(Cause::Read, "", here));
  EXPECT_TRUE(isOpen());
  {
    Timed wait(profile::Part::Wait);
    std::this_thread::sleep_for(2ms);
  }
  {
    Timed compile(profile::Part::Compile);
    std::this_thread::sleep_for(200ms);
  }
  countGraph();
  end();
  std::chrono::nanoseconds all = std::chrono::steady_clock::now() - start;
  EXPECT_FALSE(isOpen());
  std::optional<Row> row = rowAt(here);
  ASSERT_TRUE(row);
  EXPECT_GE(row->wait, 2'000'000);
  EXPECT_GE(row->time, row->wait);
  EXPECT_LT(row->time, (all - 190ms).count());
  EXPECT_EQ(row->graphs, 1u);
}

TEST(Syncs, AStepThatEndsNothingIsNone) {
  SourceId here = line(3);
  EXPECT_TRUE(sync(Cause::MarkStep, here));
  EXPECT_FALSE(rowAt(here));
  ASSERT_TRUE(begin(Cause::MarkStep, "", here));
  countGraph();
  end();
  EXPECT_TRUE(rowAt(here));
}

TEST(Syncs, AGuardRefusesWhatIsTooMany) {
  Guard guard(1);
  guard.enter();
  EXPECT_TRUE(sync(Cause::Item, line(4)));
  EXPECT_TRUE(sync(Cause::OptimizerStep, line(5)));
  EXPECT_TRUE(sync(Cause::Cap, line(5)));
  Status refused = sync(Cause::Fallback, line(6), "aten::nonzero");
  ASSERT_FALSE(refused);
  EXPECT_FALSE(isOpen());
  const Error &error = refused.error();
  EXPECT_EQ(error.code, ErrorCode::UnexpectedSync);
  EXPECT_EQ(error.op, "aten::nonzero");
  EXPECT_EQ(error.source.line, 6u);
  EXPECT_NE(error.message.find("before it: item at syncs_test.py:4"),
            std::string::npos);
  EXPECT_FALSE(error.hint.empty());
  EXPECT_EQ(guard.counted().size(), 1u);
  std::thread([&] { EXPECT_TRUE(sync(Cause::Item, line(7))); }).join();
  guard.leave();
  EXPECT_TRUE(sync(Cause::Item, line(8)));
}

TEST(Syncs, WhatOneGuardRefusesCountsInNone) {
  Guard outer(5), inner(0);
  outer.enter();
  inner.enter();
  EXPECT_FALSE(sync(Cause::Item, line(9)));
  inner.leave();
  EXPECT_TRUE(outer.counted().empty());
  outer.leave();
}

TEST(Syncs, FallbacksAreRefusedByThread) {
  EXPECT_FALSE(refusesFallback());
  NoFallback::enter();
  NoFallback::enter();
  NoFallback::leave();
  EXPECT_TRUE(refusesFallback());
  std::thread([] { EXPECT_FALSE(refusesFallback()); }).join();
  NoFallback::leave();
  EXPECT_FALSE(refusesFallback());
}

} // namespace
