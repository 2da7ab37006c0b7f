//===- record/result_shapes.h - Tensors like the results of a call --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order in which they are asked: a formula (size_rules.h), the CPU's
// kernel with small tensors (small_call.h), PyTorch's meta kernel in C++
// (meta_kernel.h), and the CPU's kernel with tensors of these sizes, which is
// work. None is in Python, and none is asked twice about equal calls.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>

namespace ltc::backend {

/// The reason where values decide the shape.
inline constexpr std::string_view kShapeByValues =
    "has no result shape before it runs";

/// Puts tensors on the stack that have the sizes, dtypes and strides of the
/// results. What a kernel refuses because of strides, it is asked again
/// without: on the device there are none. Throws what the CPU's kernel refuses
/// the call with. False, with the reason, where only values tell.
bool inferResults(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments,
                  torch::jit::Stack &stack, std::string &reason);

} // namespace ltc::backend
