//===- record/fallback.h - Calls that split the graph -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/host/host_call.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// Syncs the operands in one graph, runs the CPU kernel, counts.
void runFallback(const OpInfo &info, torch::jit::Stack &stack,
                 const std::string &reason);

/// Makes a call with a tensor that is not dense, or one that makes one, on the
/// host. Counts as a fallback if it computes something. Boxed kernel.
void callNotDense(const c10::OperatorHandle &op, torch::jit::Stack *stack);

/// Whether the call has such a tensor, and so was made on the host.
inline bool wasNotDense(const c10::OperatorHandle &op,
                        torch::jit::Stack &stack) {
  bool found = false;
  for (const c10::IValue &value :
       torch::jit::last(stack, op.schema().arguments().size()))
    forEachTensor(value, [&](const at::Tensor &tensor) {
      found |= tensor.defined() && isNotDense(tensor);
    });
  if (found) [[unlikely]]
    callNotDense(op, &stack);
  return found;
}

} // namespace ltc::backend
