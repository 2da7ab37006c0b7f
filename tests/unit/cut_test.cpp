//===- cut_test.cpp - Graphs cut into parts -------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/cut.h"

#include <gtest/gtest.h>

using namespace ltc;
using namespace ltc::runtime;

namespace {

/// Two chains that meet: b is the host's, all others are taken.
constexpr std::string_view kGraph = R"(graph {
  %0 = input f32[4]
  %1 = input scalar f64
  %2 = x::a(self=%0, by=%1) : f32[4]
  %3 = x::b(self=%2) : f32[4]
  %4 = x::c(tensors=[%0, none]) : f32[4]
  %5 = x::d(self=%3, other=%4, mask=%2) : f32[4]
  output %5 donates %0
  output %4
}
)";

Graph graph() {
  Result<Graph> parsed = Graph::parse(kGraph);
  EXPECT_TRUE(parsed);
  return *parsed;
}

TEST(Cut, WhatIsReadyGoesIntoOnePart) {
  Cut made = cut(graph(), {true, false, true, true});
  ASSERT_EQ(made.parts.size(), 2u);
  EXPECT_EQ(made.parts[0].nodes, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(made.parts[1].nodes, std::vector<uint32_t>{3});
  EXPECT_EQ(made.origin, (std::vector<uint32_t>{0, 1, 3}));
  EXPECT_TRUE(made.rest.verify());
  EXPECT_EQ(made.rest.str(), R"(graph {
  %0 = input f32[4]
  %1 = input scalar f64
  %2, %3 = torch_ltc::part(x0=%0, x1=%1, number=0) : f32[4], f32[4]
  %4 = x::b(self=%2) : f32[4]
  %5 = torch_ltc::part(x0=%4, x1=%3, x2=%2, number=1) : f32[4]
  output %5 donates %0
  output %3
}
)");
  EXPECT_TRUE(made.parts[0].graph.verify());
  EXPECT_EQ(made.parts[0].graph.str(), R"(graph {
  %0 = input f32[4]
  %1 = input scalar f64
  %2 = x::a(self=%0, by=%1) : f32[4]
  %3 = x::c(tensors=[%0, none]) : f32[4]
  output %2
  output %3
}
)");
}

TEST(Cut, NothingAndAll) {
  Cut none = cut(graph(), std::vector<bool>(4, false));
  EXPECT_TRUE(none.parts.empty());
  EXPECT_EQ(none.rest.str(), graph().str());
  Cut all = cut(graph(), std::vector<bool>(4, true));
  ASSERT_EQ(all.parts.size(), 1u);
  EXPECT_EQ(all.parts[0].graph.nodes.size(), 4u);
  EXPECT_EQ(all.parts[0].graph.outputs.size(), 2u); // a and b stay inside
}

TEST(Cut, ACallIsItsNode) {
  EXPECT_EQ(callOf(graph(), 3).str(), R"(graph {
  %0 = input f32[4]
  %1 = input f32[4]
  %2 = input f32[4]
  %3 = x::d(self=%0, other=%1, mask=%2) : f32[4]
  output %3
}
)");
}

} // namespace
