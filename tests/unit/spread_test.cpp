//===- spread_test.cpp - Where marked dimensions lead ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/spread.h"

#include <gtest/gtest.h>

using namespace ltc;
using namespace ltc::runtime;

namespace {

/// The text of the graph's nodes with dim 0 of input 0 (and more) marked.
std::string spread(const std::string &text,
                   std::vector<DimMark> marks = {{0, 0}}) {
  Result<Graph> graph = Graph::parse("graph {\n" + text + "}\n");
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  if (!graph)
    return "";
  Graph open = spreadMarks(*graph, marks);
  EXPECT_TRUE(open.verify());
  // With the hints it is the trace again.
  auto again = open.instantiate(open.symbols);
  EXPECT_TRUE(again);
  EXPECT_EQ(again->str(), graph->str());
  std::string all = open.str();
  return all.substr(all.find("\n  %2 = "));
}

TEST(Spread, FollowsASizeThroughTheOpsThatHandItOn) {
  EXPECT_EQ(spread("  %0 = input f32[32, 16]\n"
                   "  %1 = input f32[16, 24]\n"
                   "  %2 = aten::mm(self=%0, mat2=%1) : f32[32, 24]\n"
                   "  %3 = aten::relu(self=%2) : f32[32, 24]\n"
                   "  %4 = aten::t(self=%3) : f32[24, 32]\n"
                   "  %5 = aten::sum.dim_IntList(self=%3, dim=[1], "
                   "keepdim=false) : f32[32]\n"
                   "  %6 = aten::sum.dim_IntList(self=%3, dim=[0], "
                   "keepdim=false) : f32[24]\n"
                   "  output %4\n"),
            "\n  %2 = aten::mm(self=%0, mat2=%1) : f32[s0, 24]\n"
            "  %3 = aten::relu(self=%2) : f32[s0, 24]\n"
            "  %4 = aten::t(self=%3) : f32[24, s0]\n"
            "  %5 = aten::sum.dim_IntList(self=%3, dim=[1], keepdim=false) : "
            "f32[s0]\n"
            "  %6 = aten::sum.dim_IntList(self=%3, dim=[0], keepdim=false) : "
            "f32[24]\n"
            "  output %4\n}\n");
}

TEST(Spread, AnOpOfAnotherLibraryIsNotWhatItsNameSays) {
  EXPECT_EQ(spread("  %0 = input f32[32, 16]\n"
                   "  %1 = input f32[16]\n"
                   "  %2 = mine::mm(self=%0) : f32[32, 16]\n"
                   "  %3 = mine::permute(dims=[0, 5], self=%2) : f32[32, 16]\n"
                   "  %4 = mine::transpose(dim0=3, self=%3) : f32[16, 32]\n"
                   "  output %4\n"),
            "\n  %2 = mine::mm(self=%0) : f32[s0, 16]\n"
            "  %3 = mine::permute(dims=[0, 5], self=%2) : f32[s0, 16]\n"
            "  %4 = mine::transpose(dim0=3, self=%3) : f32[16, 32]\n"
            "  output %4\n}\n");
}

TEST(Spread, TellsEqualSizesApartByWhereTheyComeFrom) {
  EXPECT_EQ(spread("  %0 = input f32[16, 16]\n"
                   "  %1 = input f32[16, 16]\n"
                   "  %2 = aten::mm(self=%0, mat2=%1) : f32[16, 16]\n"
                   "  %3 = aten::transpose.int(self=%2, dim0=0, dim1=1) : "
                   "f32[16, 16]\n"
                   "  %4 = aten::mm(self=%3, mat2=%0) : f32[16, 16]\n"
                   "  output %4\n"),
            "\n  %2 = aten::mm(self=%0, mat2=%1) : f32[s0, 16]\n"
            "  %3 = aten::transpose.int(self=%2, dim0=0, dim1=1) : "
            "f32[16, s0]\n"
            "  %4 = aten::mm(self=%3, mat2=%0) : f32[16, 16]\n"
            "  output %4\n}\n");
}

TEST(Spread, MultipliesAndDividesInViews) {
  EXPECT_EQ(spread("  %0 = input f32[8, 10, 64]\n"
                   "  %1 = input f32[8, 10, 64]\n"
                   "  %2 = aten::view(self=%0, size=[80, 64]) : f32[80, 64]\n"
                   "  %3 = aten::view(self=%2, size=[8, 10, 4, 16]) : "
                   "f32[8, 10, 4, 16]\n"
                   "  %4 = aten::view(self=%1, size=[80, 64]) : f32[80, 64]\n"
                   "  output %4\n",
                   {{0, 1}}),
            "\n  %2 = aten::view(self=%0, size=[8*s0, 64]) : f32[8*s0, 64]\n"
            "  %3 = aten::view(self=%2, size=[8, s0, 4, 16]) : "
            "f32[8, s0, 4, 16]\n"
            "  %4 = aten::view(self=%1, size=[80, 64]) : f32[80, 64]\n"
            "  output %4\n}\n");
}

TEST(Spread, JoinsCutsAndMakes) {
  EXPECT_EQ(spread("  %0 = input f32[9, 4]\n"
                   "  %1 = input f32[1, 4]\n"
                   "  %2 = aten::cat(tensors=[%0, %1], dim=0) : f32[10, 4]\n"
                   "  %3 = aten::slice.Tensor(self=%0, dim=0, start=1, end=9, "
                   "step=1) : f32[8, 4]\n"
                   "  %4 = aten::arange(end=9) : i64[9]\n"
                   "  output %4\n"),
            "\n  %2 = aten::cat(tensors=[%0, %1], dim=0) : f32[s0+1, 4]\n"
            "  %3 = aten::slice.Tensor(self=%0, dim=0, start=1, end=s0, "
            "step=1) : f32[s0-1, 4]\n"
            "  %4 = aten::arange(end=s0) : i64[s0]\n"
            "  output %4\n}\n");
}

TEST(Spread, WithoutMarksOrOfSizeOneNothingIsOpen) {
  Result<Graph> graph = Graph::parse(
      "graph {\n  %0 = input f32[1, 5]\n  %1 = aten::relu(self=%0) : "
      "f32[1, 5]\n  output %1\n}\n");
  ASSERT_TRUE(graph);
  EXPECT_FALSE(spreadMarks(*graph, {}).isDynamic());
  std::vector<DimMark> marks = {{0, 0}, {3, 0}, {0, 7}};
  EXPECT_FALSE(spreadMarks(*graph, marks).isDynamic());
  marks = {{0, 1, DimMark::Kind::Static}};
  EXPECT_FALSE(spreadMarks(*graph, marks).isDynamic());
}

} // namespace
