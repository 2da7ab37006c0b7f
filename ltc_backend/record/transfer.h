//===- record/transfer.h - Making, copying and reading lazy tensors -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <torch/library.h>

namespace ltc::backend {

/// Adds the hand-written kernels to a library of the Lazy dispatch key.
void registerTransfers(torch::Library &library);

/// The number that a tensor, bare or not, has.
at::Scalar readNumber(const at::Tensor &self);

/// Whether new memory is filled, for torch.use_deterministic_algorithms().
bool fillsForDeterminism();

} // namespace ltc::backend
