//===- family_test.cpp - How many graphs of one structure are known -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/family.h"

#include <gtest/gtest.h>

using namespace ltc;
using namespace ltc::runtime;

namespace {

/// Adds a trace of so many integers to the family of that key.
std::shared_ptr<Family> addTrace(Families &families, uint64_t key,
                                 size_t integers) {
  std::shared_ptr<Family> family = families.of({key, 0});
  std::lock_guard lock(family->mutex);
  family->traces.emplace_back(integers);
  families.measured({key, 0}, *family);
  return family;
}

TEST(Families, EveryTraceOfAFamilyCounts) {
  Families families;
  constexpr size_t third = Families::kMaxIntegers / 3;
  std::shared_ptr<Family> first = addTrace(families, 1, third);
  std::shared_ptr<Family> second = addTrace(families, 2, third);
  EXPECT_EQ(families.of({1, 0}), first);
  EXPECT_EQ(families.of({2, 0}), second);
  addTrace(families, 2, third); // and what a family takes besides: too many
  EXPECT_EQ(families.of({2, 0}), second);
  EXPECT_NE(families.of({1, 0}), first);
  // The one that was forgotten says no more of the one in its place.
  families.measured({1, 0}, *first);
  EXPECT_EQ(families.of({2, 0}), second);
}

TEST(Families, FitsCountToo) {
  Families families;
  std::shared_ptr<Family> first = addTrace(families, 1, 9);
  std::shared_ptr<Family> second = families.of({2, 0});
  Fit fit;
  fit.formulaAt.resize(Families::kMaxIntegers / 2);
  second->refused = {fit};
  second->versions.push_back({fit, {}, {}});
  families.measured({2, 0}, *second);
  EXPECT_EQ(families.of({2, 0}), second); // however large, it is in use
  EXPECT_NE(families.of({1, 0}), first);
}

} // namespace
