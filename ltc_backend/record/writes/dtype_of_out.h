//===- writes/dtype_of_out.h - Reductions in the dtype of out= --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Eager computes some reductions in the dtype of an `out` that is of another
/// than the result: other numbers, where it holds less or more. Functional
/// kernels know nothing of `out`.
class DtypeOfOut {
public:
  explicit DtypeOfOut(const c10::OperatorHandle &op);
  /// Changes the call's arguments accordingly, or makes the call as a
  /// composition of others; then it returns true.
  bool wasCalled(torch::jit::Stack &stack) const;

private:
  enum class Way { None, ByArgument, ConvertFloats, ConvertToBytes, Compose };
  Way way = Way::None;
  bool takesAnyDtype = false; ///< ByArgument: not floats alone
  size_t dtype = 0;           ///< ByArgument: where it stands
  size_t count;               ///< of arguments
};

} // namespace ltc::backend
