//===- not_dense.h - Keys of tensors that are not dense ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <ATen/core/stack.h>

namespace c10 {
class OperatorHandle;
} // namespace c10

namespace ltc::backend {

enum class NotDense { Sparse, Nested, Quantized };

/// A boxed kernel for calls of an op that makes such a tensor on a lazy device.
using CallNotDense = void (*)(NotDense, const c10::OperatorHandle &,
                              torch::jit::Stack *);

} // namespace ltc::backend

/// Sets what becomes of such calls, once and from any thread. Until then each
/// makes a lazy tensor first, which loads the backend, and so comes here.
extern "C" LTC_API void ltc_set_not_dense(ltc::backend::CallNotDense call);
