//===- fit_test.cpp - Formulas that several traces have in common ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/fit.h"

#include <gtest/gtest.h>

#include <random>

using namespace ltc;
using namespace ltc::runtime;

namespace {

using enum IntegerKind;
using Texts = std::vector<std::string>;

/// The formulas, as text, that these traces give; the first `inputs` positions
/// are inputs' dimensions and the rest are results'.
Texts formulas(const std::vector<Trace> &traces, size_t inputs = 1) {
  std::vector<IntegerKind> kinds(traces[0].size(), ResultSize);
  std::fill_n(kinds.begin(), std::min(inputs, kinds.size()), InputSize);
  Fit fit = fitTraces(traces, kinds);
  for (const Trace &trace : traces)
    EXPECT_TRUE(fit.solve(trace));
  Texts texts;
  for (size_t i = 0; i < traces[0].size(); ++i)
    texts.push_back(fit.at(i).str());
  return texts;
}

TEST(Fit, WhatNeverDiffersIsANumber) {
  EXPECT_EQ(formulas({{3, 3, 4}}), (Texts{"3", "3", "4"}));
  EXPECT_EQ(formulas({{3, 3, 4}, {3, 3, 4}}), (Texts{"3", "3", "4"}));
}

TEST(Fit, EqualPairsShareASymbol) {
  EXPECT_EQ(formulas({{32, 8, 32, 32}, {48, 8, 48, 32}}),
            (Texts{"s0", "8", "s0", "32"}));
}

TEST(Fit, FindsTheFormulasThatProgramsMake) {
  EXPECT_EQ(formulas({{8, 32, 8 * 512}, {12, 48, 12 * 512}}),
            (Texts{"s0", "4*s0", "512*s0"}));
  // A sequence without its last token, a cache with one more, padding.
  EXPECT_EQ(formulas({{17, 16, 18, 47}, {40, 39, 41, 24}}),
            (Texts{"s0", "s0-1", "s0+1", "-s0+64"}));
  // Batch, length, and what a view and an attention mask make of both.
  EXPECT_EQ(formulas({{4, 10, 40, 100}, {6, 25, 150, 625}}, 2),
            (Texts{"s0", "s1", "s0*s1", "s1*s1"}));
  // What is joined along a dimension, what is cut, an output of a convolution.
  EXPECT_EQ(formulas({{5, 9, 14, 15}, {7, 30, 37, 38}}, 2),
            (Texts{"s0", "s1", "s0+s1", "s0+s1+1"}));
  EXPECT_EQ(formulas({{10, 19}, {16, 31}}), (Texts{"s0", "2*s0-1"}));
}

TEST(Fit, ASizeOfWhichAnotherIsAMultipleIsTheSymbol) {
  EXPECT_EQ(formulas({{32, 16}, {48, 24}}), (Texts{"2*s0", "s0"}));
  EXPECT_EQ(formulas({{32, 8, 16}, {48, 12, 24}}),
            (Texts{"4*s0", "s0", "2*s0"}));
}

TEST(Fit, InputsAreNotTiedByAChanceDifference) {
  EXPECT_EQ(formulas({{8, 108}, {16, 116}}, 2), (Texts{"s0", "s1"}));
  EXPECT_EQ(formulas({{8, 108}, {16, 116}}, 1), (Texts{"s0", "s0+100"}));
  EXPECT_EQ(formulas({{8, 9}, {16, 17}}, 2), (Texts{"s0", "s0+1"}));
}

TEST(Fit, AThirdTraceUndoesAChanceRelation) {
  std::vector<Trace> two = {{8, 32}, {16, 64}};
  EXPECT_EQ(formulas(two, 2), (Texts{"s0", "4*s0"}));
  Fit fit = fitTraces(two, std::vector{InputSize, InputSize});
  EXPECT_FALSE(fit.solve(Trace{8, 64}));
  EXPECT_EQ(formulas({{8, 32}, {16, 64}, {8, 64}}, 2), (Texts{"s0", "s1"}));
}

TEST(Fit, WhatFollowsNoFormulaIsASymbol) {
  EXPECT_EQ(formulas({{10, 3}, {17, 29}, {40, 4}}), (Texts{"s0", "s1"}));
}

TEST(Fit, LargeNumbersDoNotOverflow) {
  int64_t large = (int64_t(1) << 40) - 1;
  std::vector<Trace> traces = {{2, large, large - 1, large - 2},
                               {3, large - 3, large - 5, large - 8}};
  EXPECT_EQ(formulas(traces).size(), 4u);
  Fit fit = fitTraces(traces, std::vector(4, ResultSize));
  EXPECT_FALSE(fit.solve(Trace{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}));
}

/// A formula of up to three symbols, of the kinds that ops make and others.
Formula randomFormula(std::mt19937 &random, uint32_t symbols) {
  Formula sum = int64_t(random() % 4);
  for (size_t terms = 1 + random() % 2; terms--;) {
    Formula term = int64_t(1 + random() % 5);
    for (size_t degree = random() % 3 + (terms == 0); degree--;)
      term = term * Formula::symbol(random() % symbols);
    sum = sum + term;
  }
  return sum;
}

/// The one promise: what solve() takes has exactly the integers that the
/// formulas give; and a trace that does not is refused.
TEST(Fit, NeverTakesATraceThatDiffersFromItsFormulas) {
  std::mt19937 random(7);
  int taken = 0, refused = 0;
  for (int round = 0; round < 500; ++round) {
    uint32_t symbols = 1 + random() % 3;
    std::vector<Formula> truth;
    for (uint32_t i = 0; i < symbols; ++i)
      truth.push_back(Formula::symbol(i));
    for (size_t i = 0; i < 12; ++i)
      truth.push_back(randomFormula(random, symbols));
    auto makeTrace = [&] {
      std::vector<int64_t> values;
      for (uint32_t i = 0; i < symbols; ++i)
        values.push_back(int64_t(2 + random() % 60));
      Trace trace;
      for (const Formula &formula : truth)
        trace.push_back(*formula.evaluate(values));
      return trace;
    };
    std::vector<Trace> known;
    for (size_t count = 1 + random() % 4; count--;)
      known.push_back(makeTrace());
    std::vector<IntegerKind> kinds(truth.size());
    for (IntegerKind &kind : kinds)
      kind = IntegerKind(random() % 3);
    Fit fit = fitTraces(known, kinds);
    for (const Trace &trace : known)
      EXPECT_TRUE(fit.solve(trace));
    for (int i = 0; i < 20; ++i) {
      Trace trace = makeTrace();
      if (i % 2)
        trace[random() % trace.size()] += 1 + int64_t(random() % 3);
      auto values = fit.solve(trace);
      bool equal = true;
      std::vector<int64_t> read;
      for (uint32_t position : fit.symbolAt)
        read.push_back(trace[position]);
      for (size_t p = 0; p < trace.size(); ++p)
        equal &= fit.at(p).evaluate(read) == trace[p];
      EXPECT_EQ(values.has_value(), equal);
      if (values) {
        EXPECT_EQ(*values, read);
      }
      ++(values ? taken : refused);
    }
  }
  EXPECT_GT(taken, 500);
  EXPECT_GT(refused, 500);
}

TEST(Fit, MakesAGraphWithSymbolsAndReadsItBack) {
  auto trace = [](int64_t rows) {
    std::string n = std::to_string(rows), m = std::to_string(4 * rows);
    Result<Graph> graph =
        Graph::parse("graph {\n  %0 = input f32[" + n +
                     ", 8]\n  %1 = aten::view(self=%0, "
                     "size=[" +
                     m + ", 2]) : f32[" + m + ", 2]\n  output %1\n}\n");
    EXPECT_TRUE(graph);
    return *graph;
  };
  Skeleton small = skeletonOf(trace(3)), large = skeletonOf(trace(7));
  Fit fit = fitTraces(std::vector{small.integers, large.integers}, small.kinds);
  Graph open = openGraph(trace(7), fit);
  EXPECT_TRUE(open.verify());
  EXPECT_EQ(open.str(), "graph {\n  symbol s0 = 7\n  %0 = input f32[s0, 8]\n"
                        "  %1 = aten::view(self=%0, size=[4*s0, 2]) : "
                        "f32[4*s0, 2]\n  output %1\n}\n");
  EXPECT_EQ(open.instantiate(std::vector<int64_t>{3})->str(), trace(3).str());
  std::optional<Fit> again = fitOf(open);
  ASSERT_TRUE(again);
  for (size_t i = 0; i < small.integers.size(); ++i)
    EXPECT_EQ(again->at(i), fit.at(i));
  EXPECT_EQ(again->solve(skeletonOf(trace(5)).integers),
            std::vector<int64_t>{5});
  EXPECT_EQ(again->solve(Trace{5, 8, 20, 3, 20, 2}), std::nullopt);

  open.formulas[0] = open.formulas[0] * 2;
  EXPECT_FALSE(fitOf(open)); // s0 is nowhere
}

} // namespace
