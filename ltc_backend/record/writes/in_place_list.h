//===- writes/in_place_list.h - In-place ops of lists -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Takes over functionalisation of torch._foreach_add_ or one like it, whose
/// functional twin this is: PyTorch's kernel gives the tensors values that do
/// not fit them. `library` is aten's on the Functionalize key.
void registerInPlaceList(torch::Library &library, const char *name,
                         const c10::OperatorHandle &op,
                         const c10::OperatorHandle &twin);

} // namespace ltc::backend
