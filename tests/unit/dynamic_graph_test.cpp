//===- dynamic_graph_test.cpp - Graphs whose sizes are formulas -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/graph.h"

#include <gtest/gtest.h>

using namespace ltc;

namespace {

constexpr std::string_view example = R"(graph {
  symbol s0 = 32
  symbol s1 = 5
  %0 = input f32[s0, 512]
  %1 = input scalar f64
  %2 = aten::view(self=%0, size=[2*s0, 256]) : f32[2*s0, 256]
  %3 = aten::op(self=%2, k=s0*s1-s1+3, m=-4, list=[s1, 1]) : f32[s0*s1, s1+1]
  output %2
  output %3
}
)";

Graph parse(std::string_view text) {
  Result<Graph> graph = Graph::parse(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().str());
  return graph ? *graph : Graph();
}

std::string error(std::string_view text) {
  Result<Graph> graph = Graph::parse(text);
  if (!graph)
    return graph.error().message;
  Status status = graph->verify();
  return status ? "valid" : status.error().message;
}

const Formula s0 = Formula::symbol(0), s1 = Formula::symbol(1);

TEST(Formula, EqualPolynomialsAreEqual) {
  EXPECT_EQ((s0 + s1) * (s0 + s1), s1 * s1 + s0 * s0 + s1 * s0 * 2);
  EXPECT_EQ(s0 + s0 * -1, Formula(0));
  EXPECT_EQ(s0 * 0 + 7, Formula(7));
  EXPECT_TRUE((s0 + s0 * -1).isConstant());
  EXPECT_NE(s0, s1);
  EXPECT_EQ((s1 * 2 + 3).symbolCount(), 2u);
  EXPECT_EQ((s1 * 2 + 3).constant(), 3);
  EXPECT_EQ(s1.constant(), 0);
}

TEST(Formula, TextRoundTrips) {
  for (std::string_view text :
       {"0", "-3", "s0", "-s0", "4*s0*s1+2*s0+3", "s0*s0-s1-9", "-2*s1+1",
        "9223372036854775807*s0", "-9223372036854775807"}) {
    std::optional<Formula> formula = Formula::parse(text);
    ASSERT_TRUE(formula) << text;
    EXPECT_EQ(formula->str(), text);
  }
  EXPECT_EQ(Formula::parse("3+s1*2*s0+s0")->str(), "2*s0*s1+s0+3");
  for (std::string_view text :
       {"", "s", "x", "s0*", "*s0", "s0+", "s0 + 1", "2s0", "s-1", "s0++1",
        "s4294967296", "s70000", "9223372036854775808*s0", "--1"})
    EXPECT_FALSE(Formula::parse(text)) << text;
}

TEST(Formula, TakesOutWhatDividesAllCoefficients) {
  Formula formula = s0 * s1 * 12 + s0 * -18 + 30;
  EXPECT_EQ(formula.content(), 6);
  EXPECT_EQ(formula.dividedBy(3), s0 * s1 * 4 + s0 * -6 + 10);
  EXPECT_EQ((s0 + s1 * 4).content(), 1);
  EXPECT_EQ(Formula(-8).content(), 8);
  EXPECT_EQ(Formula(0).content(), 0);
  EXPECT_EQ(Formula(0).dividedBy(5), Formula(0));
}

TEST(Formula, EvaluatesOrSaysThatItDoesNotFit) {
  std::vector<int64_t> values = {3, 10};
  EXPECT_EQ((s0 * s1 * 4 + s0 * -2 + 5).evaluate(values), 119);
  EXPECT_EQ(Formula(8).evaluate({}), 8);
  EXPECT_EQ(Formula().evaluate({}), 0);
  values = {INT64_MAX / 2, 10};
  EXPECT_EQ((s0 * s1).evaluate(values), std::nullopt);
  EXPECT_EQ((s0 * 2 + s1).evaluate(values), std::nullopt);
}

TEST(DynamicGraph, TextRoundTrips) {
  Graph graph = parse(example);
  ASSERT_TRUE(graph.verify());
  EXPECT_EQ(graph.str(), example);
  EXPECT_EQ(graph.symbols, (std::vector<int64_t>{32, 5}));
  int64_t rows = graph.nodes[0].results[0].dims[0];
  EXPECT_TRUE(isSymbolic(rows));
  EXPECT_EQ(graph.formulaOf(rows), s0 * 2);
  EXPECT_EQ(graph.formulaOf(256), Formula(256));
  EXPECT_FALSE(graph.inputs[0].tensor.isStatic());
  EXPECT_EQ(graph.inputs[0].str(), "f32[?, 512]");
  // Equal sizes are equal numbers; constants need no formula.
  EXPECT_EQ(graph.sizeOf(s0 + s0), rows);
  EXPECT_EQ(graph.sizeOf(s0 + s0 * -1 + 4), 4);
}

TEST(DynamicGraph, TheKeyDependsOnWhatTheTextSays) {
  Graph graph = parse(example), other = graph;
  // The same formulas under other numbers.
  other.formulas.insert(other.formulas.begin(), s0 * 77);
  auto shift = [](int64_t &size) { size += isSymbolic(size); };
  for (ValueType &type : other.inputs)
    for (int64_t &dim : type.tensor.dims)
      shift(dim);
  for (Node &node : other.nodes) {
    for (TensorType &type : node.results)
      for (int64_t &dim : type.dims)
        shift(dim);
    for (Argument &argument : node.arguments)
      if (auto *attribute = std::get_if<Attribute>(&argument.value)) {
        if (auto *one = std::get_if<int64_t>(attribute))
          shift(*one);
        if (auto *list = std::get_if<std::vector<int64_t>>(attribute))
          for (int64_t &one : *list)
            shift(one);
      }
  }
  EXPECT_EQ(other.str(), graph.str());
  EXPECT_EQ(other.hash(), graph.hash());
  other.symbols[0] = 33;
  EXPECT_NE(other.hash(), graph.hash());
  other = graph;
  other.formulas[0] = s0 * 3;
  EXPECT_NE(other.hash(), graph.hash());
}

TEST(DynamicGraph, InstantiatesToTheStaticGraph) {
  Graph graph = parse(example);
  Result<Graph> made = graph.instantiate(std::vector<int64_t>{4, 2});
  ASSERT_TRUE(made) << made.error().str();
  EXPECT_EQ(made->str(), R"(graph {
  %0 = input f32[4, 512]
  %1 = input scalar f64
  %2 = aten::view(self=%0, size=[8, 256]) : f32[8, 256]
  %3 = aten::op(self=%2, k=9, m=-4, list=[2, 1]) : f32[8, 3]
  output %2
  output %3
}
)");
  EXPECT_EQ(made->hash(), parse(made->str()).hash());
  EXPECT_TRUE(made->verify());
  EXPECT_FALSE(graph.instantiate(std::vector<int64_t>{4, -2}));
  EXPECT_FALSE(graph.instantiate(std::vector<int64_t>{INT64_MAX, 2}));
}

TEST(DynamicGraph, BadTextIsRefused) {
  EXPECT_EQ(error("graph { %0 = input f32[s0] }"),
            "graph text, line 1: wanted a dimension, found 's0] }'");
  EXPECT_EQ(error("graph { symbol s1 = 3 }"),
            "graph text, line 1: wanted s0, found 's1 = 3 }'");
  EXPECT_EQ(error("graph { symbol s0 = x }"),
            "graph text, line 1: wanted a hint, found 'x }'");
  EXPECT_EQ(error("graph { %0 = input f32[2] symbol s0 = 2 }"),
            "graph text, line 1: wanted symbols before everything else, found "
            "'s0 = 2 }'");
  EXPECT_NE(error("graph { symbol s0 = 2 %0 = input f32[2*t0] }"), "valid");
  EXPECT_NE(error("graph { %0 = input f32[?] }"), "valid");
  // A number that would be taken for a formula.
  std::string number = std::to_string(symbolicSize(0));
  EXPECT_NE(error("graph { symbol s0 = 2 %0 = input f32[s0] %1 = aten::op("
                  "self=%0, k=" +
                  number + ") : f32[2] }"),
            "valid");
}

TEST(DynamicGraph, VerifyRefusesWhatIsNoSize) {
  EXPECT_NE(error("graph { symbol s0 = -2 %0 = input f32[s0] }"), "valid");
  EXPECT_NE(error("graph { symbol s0 = 2 %0 = input f32[s0-3] }"), "valid");
  Graph graph = parse(example);
  graph.formulas.push_back(graph.formulas[0]);
  EXPECT_FALSE(graph.verify());
  graph.formulas.back() = Formula(3);
  EXPECT_FALSE(graph.verify());
  graph.formulas.back() = Formula::symbol(2);
  EXPECT_FALSE(graph.verify());
  graph = parse(example);
  graph.formulas.pop_back();
  EXPECT_FALSE(graph.verify());
  graph = parse("graph { %0 = input f32[2] output %0 }");
  graph.inputs[0].tensor.dims[0] = symbolicSize(0);
  EXPECT_FALSE(graph.verify());
}

} // namespace
