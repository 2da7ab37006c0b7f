//===- skeleton_test.cpp - What of a graph may vary -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/skeleton.h"

#include <gtest/gtest.h>

using namespace ltc;
using namespace ltc::runtime;

namespace {

Graph parse(const std::string &text) {
  Result<Graph> graph = Graph::parse(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return graph ? *graph : Graph();
}

/// One graph, with these pieces in it.
std::string text(std::string rows = "8", std::string size = "[4, 16]",
                 std::string dim = "1", std::string op = "aten::sum") {
  return "graph {\n"
         "  %0 = input f32[" +
         rows +
         ", 8]\n"
         "  %1 = input f32[1, 8]\n"
         "  %2 = aten::view(self=%0, size=" +
         size +
         ") : f32[4, 16]\n"
         "  %3 = " +
         op + "(self=%2, dim=[" + dim +
         "], keepdim=true) : "
         "f32[4, 1]\n"
         "  output %3\n}\n";
}

Hash128 keyOf(const std::string &text) { return skeletonOf(parse(text)).key; }

TEST(Skeleton, HoldsSizesInTheOrderOfTheText) {
  Skeleton skeleton = skeletonOf(parse(text()));
  EXPECT_EQ(skeleton.integers,
            (std::vector<int64_t>{8, 8, 8, 4, 16, 4, 16, 4}));
  using enum IntegerKind;
  EXPECT_EQ(skeleton.kinds,
            (std::vector{InputSize, InputSize, InputSize, ResultSize,
                         ResultSize, ResultSize, ResultSize, ResultSize}));
}

TEST(Skeleton, IsTheSameForOtherSizesAndForNothingElse) {
  Hash128 key = keyOf(text());
  EXPECT_EQ(keyOf(text("9")), key);
  EXPECT_EQ(keyOf(text("8", "[7, 5]")), key);
  // An empty and a broadcast dimension, an axis, an op, a list's length.
  EXPECT_NE(keyOf(text("0")), key);
  EXPECT_NE(keyOf(text("1")), key);
  EXPECT_NE(keyOf(text("1099511627776")), key); // from here on no size
  EXPECT_NE(keyOf(text("8", "[4, -1]")), key);
  EXPECT_NE(keyOf(text("8", "[4, 16, 3]")), key);
  EXPECT_NE(keyOf(text("8", "[4, 16]", "2")), key);
  EXPECT_NE(keyOf(text("8", "[4, 16]", "1", "aten::mean")), key);
  EXPECT_NE(keyOf(text("8", "[4, 9223372036854775807]")), key);
  EXPECT_EQ(keyOf(text("0")), keyOf(text("0", "[9, 9]")));
}

TEST(Skeleton, KnowsSizesFromDataFromStructure) {
  auto kinds = [](const std::string &call) {
    return skeletonOf(parse("graph {\n  %0 = input f32[1]\n  %1 = aten::" +
                            call + " : f32[1]\n  output %1\n}\n"))
        .kinds;
  };
  using Kinds = std::vector<IntegerKind>;
  EXPECT_EQ(kinds("select.int(self=%0, dim=2, index=5)"),
            Kinds{IntegerKind::Position});
  EXPECT_EQ(kinds("slice.Tensor(self=%0, dim=2, start=3, end=7, step=2)"),
            (Kinds{IntegerKind::Position, IntegerKind::Position}));
  EXPECT_EQ(kinds("select.int(self=%0, dim=2, index=0)"),
            Kinds{IntegerKind::Position});
  EXPECT_EQ(kinds("select.int(self=%0, dim=2, index=-1)"), Kinds{});
  EXPECT_EQ(kinds("triu(self=%0, diagonal=3)"), Kinds{IntegerKind::Data});
  EXPECT_EQ(kinds("triu(self=%0, diagonal=1)"), Kinds{});
  EXPECT_EQ(kinds("transpose.int(self=%0, dim0=2, dim1=3)"), Kinds{});
  EXPECT_EQ(kinds("topk(self=%0, k=3, dim=2)"), Kinds{IntegerKind::ResultSize});
  EXPECT_EQ(kinds("rot90(self=%0, k=3, dims=[2, 3])"), Kinds{});
  EXPECT_EQ(kinds("max_pool2d(self=%0, kernel_size=[2, 2], stride=[2, 2])"),
            Kinds{});
}

TEST(Skeleton, OfASymbolicGraphIsThatOfItsTraces) {
  Graph trace = parse(text("32", "[4, 64]"));
  Graph open = parse("graph {\n  symbol s0 = 32\n"
                     "  %0 = input f32[s0, 8]\n  %1 = input f32[1, 8]\n"
                     "  %2 = aten::view(self=%0, size=[4, 2*s0]) : f32[4, 16]\n"
                     "  %3 = aten::sum(self=%2, dim=[1], keepdim=true) : "
                     "f32[4, 1]\n  output %3\n}\n");
  Skeleton skeleton = skeletonOf(open);
  EXPECT_EQ(skeleton.key, skeletonOf(trace).key);
  EXPECT_EQ(open.formulaOf(skeleton.integers[4]).str(), "2*s0");
}

TEST(Skeleton, MapsItsIntegers) {
  Graph graph = parse(text());
  Graph changed =
      openIntegers(graph, {}, {}, [](int64_t value, size_t position) {
        return position == 3 ? int64_t(77) : value;
      });
  EXPECT_EQ(changed.str(), parse(text("8", "[77, 16]")).str());
}

TEST(Skeleton, SaysWhereAPositionIs) {
  Graph graph = parse(text());
  EXPECT_EQ(positionOf(graph, 0, 1), 1u);
  EXPECT_EQ(positionOf(graph, 1, 1), 2u);
  EXPECT_EQ(positionOf(graph, 1, 0), std::nullopt); // 1: structure
  EXPECT_EQ(positionOf(graph, 5, 0), std::nullopt);
  EXPECT_EQ(describeInteger(graph, 1), "dim 1 of input 0");
  EXPECT_EQ(describeInteger(graph, 4),
            "argument 'size' of aten::view (node 0)");
  EXPECT_EQ(describeInteger(graph, 7),
            "dim 0 of the result of aten::sum (node 1)");
}

} // namespace
