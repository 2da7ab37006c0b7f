//===- writes/empty_list.h - Writes to no tensors among others --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Functionalisation takes a call that has an empty list among those it writes,
/// as `_amp_foreach_non_finite_check_and_unscale_` of no gradients, for one of
/// tensors that it does not know, and hands it on as it is. Here the op without
/// a `_` is called instead, and what it gives is copied to the arguments.
/// False, and nothing done, of any other call.
bool wroteBesideEmptyList(const c10::OperatorHandle &op,
                          torch::jit::Stack &stack);

} // namespace ltc::backend
