//===- writes/in_place_list.h - In-place ops of lists -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/stack.h>
#include <torch/library.h>

namespace ltc::backend {

/// Takes over functionalisation of torch._foreach_add_ or one like it, whose
/// functional twin this is: PyTorch's kernel gives the tensors values that do
/// not fit them. `library` is aten's on the Functionalize key.
void registerInPlaceList(torch::Library &library, const char *name,
                         const c10::OperatorHandle &op,
                         const c10::OperatorHandle &twin);

/// Calls an op that writes to one list and takes no other for each tensor of it
/// alone where those share memory, as
/// `_amp_foreach_non_finite_check_and_unscale_` of gradients that overlap: what
/// one writes the next one reads. False, and nothing done, of any other call.
bool wroteOneByOne(const c10::OperatorHandle &op, torch::jit::Stack &stack);

} // namespace ltc::backend
