//===- writes/write_kernel.h - The kernels of ops that write ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// In front of PyTorch's kernels of the ops that write: checks the call, runs
/// what is beside an empty list (empty_list.h) or goes to places (overlap.h),
/// and has all others write to tensors that only stand for the written ones,
/// which then get their values (write_value.h). `library` is aten's on the
/// Functionalize key.
void registerWrites(torch::Library &library);

} // namespace ltc::backend
