//===- errors_test.cpp - What ATen throws, as Errors ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel_call.h"
#include "ltc_backend/raise.h"

using namespace ltc;
using namespace ltc::backend;
using namespace ltc::backend::test;

namespace {

Error failure(KernelCall kernel) {
  Status status = kernel.run();
  EXPECT_FALSE(status) << "the call was expected to fail";
  return status ? Error() : status.takeError();
}

bool says(const Error &error, const std::string &words) {
  return error.message.find(words) != std::string::npos;
}

TEST(KernelErrors, IndexOutOfRangeNamesOpAndOperands) {
  at::Tensor weight = at::randn({10, 3}), i = at::tensor({4, 12}, at::kLong);
  std::string call = "aten::embedding(weight=%0, indices=%1)";
  KernelCall kernel(call, {weight, i}, {at::empty({2, 3})});
  Status status = kernel.run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::OutOfRange);
  EXPECT_EQ(status.error().stage, Stage::Execute);
  EXPECT_EQ(status.error().op, "aten::embedding");
  EXPECT_TRUE(says(status.error(), "index out of range"))
      << status.error().message;
  EXPECT_TRUE(says(status.error(), "f32[10, 3], i64[2]"))
      << status.error().message;
  // The kernel works again afterwards.
  at::Tensor good = at::tensor({4, 9}, at::kLong);
  ASSERT_TRUE(kernel.run({weight, good}));
  EXPECT_TRUE(same(kernel.results[0], at::embedding(weight, good)));
}

TEST(KernelErrors, OutOfBoundsInAGatherIsOutOfRangeToo) {
  at::Tensor x = at::randn({2, 3}),
             i = at::tensor({5, 0}, at::kLong).view({2, 1});
  Error error = failure(
      {"aten::gather(self=%0, dim=1, index=%1)", {x, i}, {i.to(at::kFloat)}});
  EXPECT_EQ(error.code, ErrorCode::OutOfRange) << error.str();
}

TEST(KernelErrors, MissingKernelIsUnsupported) {
  at::Tensor x = at::ones({2, 2}, at::kInt);
  Error error =
      failure({"aten::linalg_inv_ex(A=%0)", {x}, {x, at::empty({}, at::kInt)}});
  EXPECT_TRUE(says(error, "linalg")) << error.str();
  EXPECT_EQ(error.op, "aten::linalg_inv_ex");
}

TEST(KernelErrors, WrongResultTypeIsReportedAndNotWritten) {
  at::Tensor x = at::randn({4});
  Error error = failure({"aten::unbind.int(self=%0, dim=0)",
                         {x},
                         {at::empty({}), at::empty({})}});
  EXPECT_TRUE(says(error, "returned 4 tensors where 2 were recorded"))
      << error.str();
  error = failure({"aten::split.Tensor(self=%0, split_size=2)",
                   {x},
                   {at::empty({3}), at::empty({1})}});
  EXPECT_TRUE(says(error, "was recorded as f32[3]")) << error.str();
}

Error refusal(const std::string &text) {
  auto graph = Graph::parse(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().str());
  auto kernel = resolveKernel(*graph);
  EXPECT_FALSE(kernel);
  return kernel ? Error() : kernel.takeError();
}

TEST(KernelErrors, WhatCannotBeAKernelIsRefused) {
  at::Tensor x = at::randn({4});
  auto refused = [&](const std::string &call) {
    return refusal(callText(call, {x}, {x}));
  };
  Error error = refused("aten::no_such_op(self=%0)");
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_TRUE(says(error, "no such operator")) << error.message;
  EXPECT_TRUE(says(refused("aten::relu_(self=%0)"), "changes its arguments"));
  EXPECT_TRUE(says(refused("aten::item(self=%0)"), "returns no tensor"));
  EXPECT_TRUE(
      says(refused("aten::relu(nothing=%0)"), "no argument named nothing"));
  EXPECT_TRUE(
      says(refused("aten::cumsum(self=%0)"), "argument dim is missing"));
  EXPECT_TRUE(says(refused("aten::cumsum(self=%0, dim=\"x\")"),
                   "argument dim of type int"));
  EXPECT_TRUE(says(refused("aten::cumsum(self=%0, dim=%0)"),
                   "cannot take the operand f32[4]"));
}

TEST(Raise, ThrowsATorchErrorThatCarriesOurs) {
  Error error;
  error.code = ErrorCode::OutOfMemory;
  error.message = "no room";
  error.op = "aten::mm";
  try {
    raise(error);
    FAIL();
  } catch (const c10::Error &caught) {
    EXPECT_NE(std::string(caught.what()).find("no room"), std::string::npos);
  }
  try {
    raise(error);
  } catch (...) {
    Error again = currentError(Stage::Record, "aten::other");
    EXPECT_EQ(again.code, ErrorCode::OutOfMemory);
    EXPECT_EQ(again.op, "aten::mm");
  }
}

TEST(Raise, TheHookThrowsFirst) {
  setRaiseHook([](const Error &error) {
    if (error.code == ErrorCode::Interrupted)
      throw 42;
  });
  Error error;
  error.code = ErrorCode::Interrupted;
  EXPECT_THROW(raise(error), int);
  error.code = ErrorCode::Internal;
  EXPECT_THROW(raise(error), LtcError);
  setRaiseHook(nullptr);
}

ErrorCode codeOf(void (*thrower)()) {
  try {
    thrower();
  } catch (...) {
    return currentError(Stage::Execute, "aten::x").code;
  }
  return ErrorCode::Internal;
}

TEST(Raise, TorchExceptionsChooseTheCode) {
  EXPECT_EQ(codeOf([] { TORCH_CHECK_INDEX(false, "x"); }),
            ErrorCode::OutOfRange);
  EXPECT_EQ(codeOf([] { TORCH_CHECK_VALUE(false, "x"); }),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(codeOf([] { TORCH_CHECK_NOT_IMPLEMENTED(false, "x"); }),
            ErrorCode::Unsupported);
  EXPECT_EQ(codeOf([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "x"); }),
            ErrorCode::OutOfMemory);
  EXPECT_EQ(codeOf([] { TORCH_CHECK(false, "can't allocate memory"); }),
            ErrorCode::OutOfMemory);
  EXPECT_EQ(codeOf([] { throw std::bad_alloc(); }), ErrorCode::OutOfMemory);
  EXPECT_EQ(codeOf([] { TORCH_INTERNAL_ASSERT(false, "x"); }),
            ErrorCode::Internal);
}

} // namespace
