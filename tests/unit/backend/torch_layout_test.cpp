//===- torch_layout_test.cpp ----------------------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/torch_layout.h"

#include <gtest/gtest.h>

using namespace ltc::backend;

TEST(TorchLayout, AllMembersAreWhereTheHeadersSay) {
  std::vector<LayoutReading> readings = readLayouts();
  EXPECT_EQ(readings.size(), 9u);
  for (const LayoutReading &reading : readings)
    EXPECT_EQ(reading.found, reading.wanted) << reading.member;
  EXPECT_TRUE(judgeLayouts(readings));
}

TEST(TorchLayout, AMemberElsewhereIsNamedWithARemedy) {
  for (size_t moved = 0, count = readLayouts().size(); moved < count; ++moved) {
    std::vector<LayoutReading> readings = readLayouts();
    readings[moved].found += 8;
    ltc::Status status = judgeLayouts(readings);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ltc::ErrorCode::Unsupported);
    std::string message = status.error().str();
    EXPECT_NE(message.find(readings[moved].member), message.npos) << message;
    EXPECT_NE(message.find("pip install torch=="), message.npos) << message;
  }
}
