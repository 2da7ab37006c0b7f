//===- view_call.cpp - A view op on a CPU tensor --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "view_call.h"

#include "../raise.h"
#include "clean_thread_state.h"

namespace ltc::backend {

/// Whether the view is described by places in memory, or may not be had of all
/// strides: a graph's values are dense.
static bool isOfDense(const std::string &op) {
  return op.starts_with("aten::view") || op.starts_with("aten::as_strided") ||
         op.starts_with("aten::_reshape");
}

Result<ViewCall> ViewCall::plan(const Graph &call,
                                const c10::OperatorHandle &view) {
  Result<CallPlan> copying = planCall(call);
  if (!copying)
    return copying.takeError();
  if (copying->bindings.size() != 1 ||
      copying->bindings[0].kind != Binding::Tensor ||
      copying->bindings[0].argument != 0) {
    Error error;
    error.op = copying->name;
    error.message = "the view takes other operands than one tensor";
    return error;
  }
  return ViewCall(view, std::move(copying->arguments),
                  isOfDense(view.schema().name()));
}

Result<std::vector<at::Tensor>>
ViewCall::operator()(const at::Tensor &self) const {
  try {
    CleanThreadState clean;
    Stack stack = arguments;
    stack[0] = needsDense ? self.contiguous() : self;
    view.callBoxed(&stack);
    if (stack[0].isTensorList())
      return stack[0].toTensorVector();
    std::vector<at::Tensor> results;
    for (const c10::IValue &value : stack)
      results.push_back(value.toTensor());
    return results;
  } catch (...) {
    return currentError(Stage::Execute, view.schema().name());
  }
}

} // namespace ltc::backend
