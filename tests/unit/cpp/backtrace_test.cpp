//===- backtrace_test.cpp - Lines that nobody names -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of its own, with debug information and without PyTorch's large
// headers, whose debug information takes addr2line a second to read.
//
//===----------------------------------------------------------------------===//
#include "errors.h"

#include <ltc/ltc.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace {

/// The first line of ours that the error of a bad index names.
std::string placeOf(const at::Tensor &failing) {
  return errorOf([&] { failing.cpu(); });
}

at::Tensor badIndex() {
  return at::tensor({1, 30}, at::kLong).to(ltc::device());
}

/// A compiled graph has the lines of where it was recorded first: each has a
/// size of its own.
[[gnu::noinline]] at::Tensor gather(const at::Tensor &index, int64_t size) {
  return at::zeros({size}, at::kLazy).gather(0, index);
}
const std::string kGatherLine =
    "backtrace_test.cpp:" + std::to_string(__LINE__ - 3);

TEST(SourceBacktrace, FindsTheProgramsLine) {
  at::Tensor index = badIndex();
  EXPECT_EQ(placeOf(gather(index, 4)).find("backtrace_test"), std::string::npos)
      << "without the setting nobody looks";
  ltc::initialize({{"source_backtrace", "true"}});
  EXPECT_SAYS(placeOf(gather(index, 5)), kGatherLine);
}

TEST(SourceBacktrace, GivesWayToLinesThatAreNamed) {
  ltc::initialize({{"source_backtrace", "true"}});
  at::Tensor index = badIndex();
  LTC_SOURCE_HERE();
  std::string line =
      "backtrace_test.cpp:" + std::to_string(__LINE__ - 2) + " in TestBody";
  at::Tensor failing = gather(index, 6);
  ltc::set_source(0);
  EXPECT_SAYS(placeOf(failing), line);
}

} // namespace
