//===- ops/packed_numbers.h - Lists of numbers in a CPU tensor --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Whether the call is one of torch._foreach_addcmul or the like with `scalars`
/// in a tensor of the CPU. Then it has made, as eager's kernel does, that with
/// a list of numbers; throws in eager's words.
bool calledWithNumbers(const c10::OperatorHandle &op, torch::jit::Stack &stack);

} // namespace ltc::backend
