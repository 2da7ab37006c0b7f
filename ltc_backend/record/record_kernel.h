//===- record/record_kernel.h - The kernels on the Lazy key -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>
#include <torch/library.h>

namespace ltc::backend {

/// record() for any op: draws, with rng=eager, what is random, and checks what
/// is asked to raise.
void recordCall(const OpInfo &info, torch::jit::Stack &stack);

/// The kernel of one op. A call of a handler's is functionalised first.
struct RecordKernel final : c10::OperatorKernel {
  explicit RecordKernel(const OpInfo &info) : info(info) {}
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet,
                  torch::jit::Stack *stack);
  const OpInfo &info;
};

/// Gives a recorded op its kernel on the Lazy key, which records a known call
/// directly (direct.h) if the op makes tensors of none. `library` is aten's on
/// that key.
void registerRecordKernel(torch::Library &library, const char *name,
                          const OpInfo &info);

/// The kernel of all other ops, which are written to, viewed or recorded.
void recordAnyOther(const c10::OperatorHandle &op, torch::jit::Stack *stack);

} // namespace ltc::backend
