//===- record/direct_transfer.h - Casts and copies, directly ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Gives `self` the value of `source`, of the same device and sizes. False:
/// only the long way can, and nothing has been done.
bool wroteCopy(const at::Tensor &self, const at::Tensor &source);

/// In front of the kernels of _to_copy and empty_like, on one device, and of
/// item(): no detours are made (direct.h). `library` is aten's on the
/// Functionalize key.
void registerDirectTransfers(torch::Library &library);

} // namespace ltc::backend
