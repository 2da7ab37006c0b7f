//===- cuda_attention.h - The CPU's attention on a GPU ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs are recorded with the CPU's attention, whose results CUDA's has, too,
// but for padding. What that does not take is computed by its definition.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <string_view>

namespace ltc::backend {

/// A DirectCall (direct_call.h).
using AttentionCall = bool (*)(const std::vector<c10::IValue> &arguments,
                               c10::ArrayRef<at::Tensor> results,
                               const at::Generator &generator);

/// For the CPU's op of that name, forward or backward; else nullptr.
AttentionCall cudaAttention(std::string_view op);

} // namespace ltc::backend
