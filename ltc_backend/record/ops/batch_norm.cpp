//===- ops/batch_norm.cpp - The one op that writes without saying so ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native_batch_norm updates its running statistics in place although its schema
// calls them read-only, so functionalisation cannot see it. It is recorded as
// the functional form, and the statistics are given their new values.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/batch_norm.h"

#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/recorder.h"

namespace ltc::backend {

void batchNorm(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  auto arguments = torch::jit::last(*stack, 8);
  auto optional = [&](size_t i) {
    return arguments[i].isTensor() ? arguments[i].toTensor() : at::Tensor();
  };
  at::Tensor runningMean = optional(3), runningVar = optional(4);
  bool updates =
      arguments[5].toBool() && runningMean.defined() && runningVar.defined();
  if (!updates)
    return record(opInfo(op), *stack);
  static const OpInfo &functional =
      opInfo("aten::_native_batch_norm_legit_functional", "");
  record(functional, *stack);
  for (at::Tensor *running : {&runningVar, &runningMean}) {
    at::Tensor updated = torch::jit::pop(*stack).toTensor();
    assign(tensorData(*running), operandOf(tensorData(updated)));
  }
}

} // namespace ltc::backend
