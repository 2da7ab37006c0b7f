//===- call_test.cpp - Library calls that a driver does itself ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program_fixture.h"

using namespace conformance;

namespace {

class ProgramCalls : public ExecutionTest {};
class FaultsCalls : public ExecutionTest {};

Graph callOf(const std::string &op) {
  auto graph = Graph::parse("graph {\n"
                            "  %0 = input f32[2, 3]\n"
                            "  %1 = input scalar f64\n"
                            "  %2 = input scalar i64\n"
                            "  %3 = " +
                            op +
                            "(x=%0, a=%1, b=%2) : f32[3, 2]\n"
                            "  output %3\n}");
  EXPECT_TRUE(graph);
  return *graph;
}

/// (x: f32[2, 3], a: scalar f64) -> f32[3, 2]: the op of x^T, a and 3.
Artifact calling(Artifact made, const std::string &op) {
  made.kernels.clear();
  made.calls = {{callOf(op), 0}};
  ltc_step step = {};
  step.kind = LTC_CALL;
  step.words = 12;
  auto number = [](int64_t value) { return ltc_word{LTC_NUMBER, 0, value}; };
  made.words = {{LTC_INPUT, 0, 0}, number(3),          number(2),
                number(1),         number(3),          {LTC_INPUT, 1, 0},
                number(3),         {LTC_RESULT, 0, 0}, number(3),
                number(2),         number(2),          number(1)};
  made.steps = {step};
  return made;
}

TEST_F(ProgramCalls, LibraryCallsGetStridedViewsAndScalars) {
  if (!takesCalls())
    GTEST_SKIP() << "the device leaves library calls to the host";
  std::vector<int64_t> in = {2, 3}, out = {3, 2};
  Artifact made =
      artifact("", {f32(in), ValueType::scalar(DType::F64)}, {f32(out).tensor});
  Artifact wrong = calling(made, "test::axpy");
  wrong.steps[0].words = 11;
  EXPECT_EQ(load(wrong).code, LTC_INVALID_ARGUMENT);
  ASSERT_EQ(load(calling(made, "test::axpy")).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3, 4, 5, 6});
  ltc_buffer *y = allocate(24);
  addTensor(x, in);
  addScalar(0.5);
  addTensor(y, out);
  EXPECT_EQ(run().code, LTC_OK);
  EXPECT_EQ(download<float>(y, 6),
            (std::vector<float>{3.5, 5, 4, 5.5, 4.5, 6}));
  free(x);
  free(y);
}

TEST_F(FaultsCalls, UnknownAndFailingLibraryCallsAreErrors) {
  if (!takesCalls())
    GTEST_SKIP() << "the device leaves library calls to the host";
  std::vector<int64_t> in = {2, 3}, out = {3, 2};
  Artifact made =
      artifact("", {f32(in), ValueType::scalar(DType::F64)}, {f32(out).tensor});
  Failure failure = load(calling(made, "other::unknown"));
  EXPECT_EQ(failure.code, LTC_UNSUPPORTED);
  EXPECT_NE(failure.message.find("other::unknown"), failure.message.npos);
  EXPECT_NE(failure.message.find("no such kernel"), failure.message.npos);

  ASSERT_EQ(load(calling(made, "test::fail")).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3, 4, 5, 6});
  ltc_buffer *y = allocate(24);
  addTensor(x, in);
  addScalar(0.5);
  addTensor(y, out);
  for (int i = 0; i < 2; ++i) {
    failure = run();
    EXPECT_EQ(failure.code, LTC_INVALID_ARGUMENT);
    EXPECT_EQ(failure.message, "it fails on purpose");
    EXPECT_EQ(failure.site, 2); // call 0, behind the two error sites
  }
  free(x);
  free(y);
}

} // namespace
