//===- autopsy_test.cpp - Where graphs differ, and what is remembered -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "autopsy/history.h"

#include <gtest/gtest.h>

using namespace ltc;
using runtime::CompileHistory;

namespace {

Graph parsed(const std::string &body) {
  Result<Graph> graph = Graph::parse("graph {\n" + body + "}\n");
  EXPECT_TRUE(graph) << graph.error().str();
  return graph ? std::move(*graph) : Graph();
}

/// One op on one input of so many elements.
Graph one(const std::string &op, int64_t size) {
  std::string type = "f32[" + std::to_string(size) + "]";
  return parsed(
      "%0 = input " + type + "\n%1 = test::" + op + "(self=%0) : " + type +
      " loc \"train.py\":" + std::to_string(op.size()) + "\noutput %1\n");
}

CompileRecord noted(CompileHistory &history, const Graph &graph) {
  history.note(graph, graph.hash(), {});
  return compileRecords().back();
}

TEST(Autopsy, AnOpMoreThatNothingElseNeedsIsAnotherLiveValue) {
  const char *before = "%0 = input f32[4]\n"
                       "%1 = test::a(self=%0) : f32[4]\n"
                       "%2 = test::b(self=%1) : f32[2]\n"
                       "output %2\n";
  const char *now = "%0 = input f32[4]\n"
                    "%1 = input f32[8]\n"
                    "%2 = test::a(self=%0) : f32[4]\n"
                    "%3 = test::c(self=%2, other=%1) : f32[8]\n"
                    "%4 = test::b(self=%2) : f32[2]\n"
                    "output %4\n"
                    "output %3\n";
  GraphDifference more = compareGraphs(parsed(before), parsed(now));
  EXPECT_EQ(more.cause, CompileCause::Outputs);
  EXPECT_EQ(more.op, "test::c");
  EXPECT_EQ(more.now, "alive");
  GraphDifference fewer = compareGraphs(parsed(now), parsed(before));
  EXPECT_EQ(fewer.cause, CompileCause::Outputs);
  EXPECT_EQ(fewer.op, "test::c");
  EXPECT_EQ(fewer.now, "dropped");
}

TEST(Autopsy, AnOpMoreThatAnotherReadsIsAnotherOp) {
  GraphDifference difference = compareGraphs(
      parsed("%0 = input f32[4]\n%1 = test::b(self=%0) : f32[4]\noutput %1\n"),
      parsed("%0 = input f32[4]\n%1 = test::a(self=%0) : f32[4]\n"
             "%2 = test::b(self=%1) : f32[4]\noutput %2\n"));
  EXPECT_EQ(difference.cause, CompileCause::Ops);
  EXPECT_EQ(difference.was, "test::b");
  EXPECT_EQ(difference.now, "test::a");
}

TEST(Autopsy, AnInputThatIsAResultAsItIsIsSaidSo) {
  std::string body = "%0 = input f32[4]\n"
                     "%1 = test::a(self=%0) : f32[4]\n"
                     "output %1\n";
  GraphDifference more =
      compareGraphs(parsed(body), parsed(body + "output %0\n"));
  EXPECT_EQ(more.what, "input 0 is a result as it is, and was none");
  GraphDifference fewer =
      compareGraphs(parsed(body + "output %0\n"), parsed(body));
  EXPECT_EQ(fewer.what, "input 0 was a result as it is, and is none");
  // Twice the same value: all are alive in both.
  GraphDifference twice =
      compareGraphs(parsed(body + "output %1\n"), parsed(body));
  EXPECT_EQ(twice.cause, CompileCause::Outputs);
  EXPECT_EQ(twice.subject, "outputs");
}

TEST(Autopsy, AListOfOtherLengthAndAnAbsentTensorAreOtherOperands) {
  const char *inputs = "%0 = input f32[4]\n%1 = input f32[4]\n";
  auto compare = [&](const char *was, const char *now) {
    auto graph = [&](const char *argument) {
      return parsed(std::string(inputs) + "%2 = test::a(self=%0, x=" +
                    argument + ") : f32[4]\noutput %2\n");
    };
    return compareGraphs(graph(was), graph(now));
  };
  GraphDifference longer = compare("[%1]", "[%1, %0]");
  EXPECT_EQ(longer.cause, CompileCause::Ops);
  EXPECT_EQ(longer.what,
            "the number of tensors in 'x' of test::a was 1 and is 2");
  GraphDifference given = compare("none", "%1");
  EXPECT_EQ(given.cause, CompileCause::Ops);
  EXPECT_EQ(given.what, "'x' of test::a was none and is a tensor");
}

TEST(Autopsy, EarlierGraphsAreForgottenAndTheirKeysAreNot) {
  CompileHistory history;
  Graph first = one("first", 3);
  EXPECT_EQ(noted(history, first).difference.cause, CompileCause::FirstUse);
  CompileRecord resized = noted(history, one("first", 4));
  EXPECT_EQ(resized.difference.cause, CompileCause::Shape);
  EXPECT_EQ(resized.difference.was + " " + resized.difference.now, "3 4");
  for (int i = 0; i < 64; ++i)
    noted(history, one("other" + std::string(size_t(i + 1), 'x'), 3));
  EXPECT_EQ(noted(history, one("first", 5)).difference.cause,
            CompileCause::FirstUse);
  EXPECT_EQ(noted(history, first).difference.cause, CompileCause::Evicted);
}

TEST(Autopsy, AGraphOfEqualContentIsFoundOnOtherLines) {
  CompileHistory history;
  Graph graph = one("a", 3), moved = graph;
  noted(history, graph);
  moved.nodes[0].source = internSource({"other.py", 9, ""});
  moved.outputs[0].donated = 0;
  CompileRecord record = noted(history, moved);
  EXPECT_EQ(record.difference.cause, CompileCause::Outputs);
  EXPECT_EQ(record.source.str(), "other.py:9");
  EXPECT_EQ(record.earlier.str(), "train.py:1");
  EXPECT_EQ(record.difference.subject, "input 0");
}

} // namespace
