//===- view_call.h - A view op on a CPU tensor ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "call_plan.h"

namespace ltc::backend {

/// Gives aliases where a kernel of the same call, `aten::slice_copy` for
/// `aten::slice`, would copy. Immutable; any thread.
class ViewCall {
public:
  /// `call`: the graph of the copying form, of whose operator `view` is the
  /// aliasing one.
  static Result<ViewCall> plan(const Graph &call,
                               const c10::OperatorHandle &view);

  /// The results, of the memory of `self`, or of a dense copy where the view
  /// is one of dense memory alone. Never throws.
  Result<std::vector<at::Tensor>> operator()(const at::Tensor &self) const;

private:
  ViewCall(c10::OperatorHandle view, Stack arguments, bool needsDense)
      : view(std::move(view)), arguments(std::move(arguments)),
        needsDense(needsDense) {}

  c10::OperatorHandle view;
  Stack arguments; ///< without the first
  bool needsDense;
};

} // namespace ltc::backend
