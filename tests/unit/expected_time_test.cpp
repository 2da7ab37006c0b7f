//===- expected_time_test.cpp - What a library call takes -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/expected_time.h"

#include <gtest/gtest.h>

using namespace ltc;

static double timeOf(const std::string &body) {
  Result<Graph> call = Graph::parse("graph {\n" + body + "}\n");
  EXPECT_TRUE(call) << call.error().message;
  return call ? runtime::expectedTime(*call) : 0;
}

// Each within a factor of four of what was measured, in microseconds.
TEST(ExpectedTime, IsOfTheRightOrder) {
  auto isAbout = [](const std::string &body, double microseconds) {
    double time = timeOf(body) / 1000;
    EXPECT_GT(time, microseconds / 4) << body;
    EXPECT_LT(time, microseconds * 4) << body;
  };
  isAbout("%0 = input f32[1024,1024]\n"
          "%1 = aten::cumsum(self=%0, dim=1) : f32[1024,1024]\n"
          "output %1\n",
          980);
  isAbout("%0 = input f32[256,1024]\n"
          "%1, %2 = aten::sort.stable(self=%0, stable=false, dim=1, "
          "descending=false) : f32[256,1024], i64[256,1024]\n"
          "output %1\noutput %2\n",
          13000);
  isAbout("%0 = input f32[1024,1024]\n%1 = input f32[1024,1024]\n"
          "%2 = aten::mm(self=%0, mat2=%1) : f32[1024,1024]\n"
          "output %2\n",
          20000);
  isAbout("%0 = input f32[4,256]\n%1 = input f32[256,1024]\n"
          "%2 = aten::mm(self=%0, mat2=%1) : f32[4,1024]\n"
          "output %2\n",
          20);
}

TEST(ExpectedTime, OfATableTheseRowsAreRead) {
  auto timeOfBags = [](int rows, int indices) {
    return timeOf("%0 = input f32[" + std::to_string(rows) +
                  ",64]\n%1 = input i64[" + std::to_string(indices) +
                  "]\n%2 = input i64[10]\n"
                  "%3, %4, %5, %6 = aten::_embedding_bag_forward_only("
                  "weight=%0, indices=%1, offsets=%2) : f32[10,64], i64[0], "
                  "i64[10], i64[10]\n"
                  "output %3\noutput %4\noutput %5\noutput %6\n");
  };
  EXPECT_EQ(timeOfBags(1000, 100), timeOfBags(1000000, 100));
  EXPECT_GT(timeOfBags(1000, 100000), 1e6);
}

TEST(ExpectedTime, ATableIsNotRead) {
  EXPECT_EQ(timeOf("%0 = input f32[1000000,64]\n%1 = input i64[3]\n"
                   "%2 = input f32[3,64]\n"
                   "%3 = aten::index_copy(self=%0, dim=0, index=%1, "
                   "source=%2) : f32[1000000,64]\n"
                   "output %3\n"),
            0);
}
