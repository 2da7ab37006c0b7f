//===- kernel_call.h - Runs one kernel on tensors ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/aten/kernel_provider.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace ltc::backend::test {

/// A tensor, or a host scalar.
using Operand = std::variant<at::Tensor, double, int64_t, bool>;

/// The graph text of one call: "%0 = input …" for each operand, then `call`
/// with the results' types.
std::string callText(const std::string &call,
                     const std::vector<Operand> &operands,
                     const std::vector<at::Tensor> &results);

/// A kernel with operands and results to run it on. Results start full of NaN
/// or another value that no test expects.
class KernelCall {
public:
  /// `results` give only sizes, strides and dtypes.
  KernelCall(const std::string &call, std::vector<Operand> operands,
             const std::vector<at::Tensor> &results);

  /// Resolves if need be, then runs.
  Status run();
  /// Runs on other operands of the same number.
  Status run(std::vector<Operand> operands);

  std::vector<at::Tensor> results;

private:
  std::string text;
  std::vector<Operand> operands;
  std::unique_ptr<Kernel> kernel;
};

/// Runs the call once and returns its results; a failure fails the test.
std::vector<at::Tensor> runCall(const std::string &call,
                                std::vector<Operand> operands,
                                const std::vector<at::Tensor> &likeResults);

/// Equal in shape, dtype and every value, NaN equal to NaN.
testing::AssertionResult same(const at::Tensor &actual,
                              const at::Tensor &wanted);
testing::AssertionResult same(const std::vector<at::Tensor> &actual,
                              const std::vector<at::Tensor> &wanted);

} // namespace ltc::backend::test
