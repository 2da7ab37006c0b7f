//===- host/not_dense_kernels.h - Kernels of tensors not dense --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Lets every op that takes or makes a sparse or quantized tensor run on the
/// host, and refuses nested ones, by the op's name and the user's line.
void registerNotDense();

} // namespace ltc::backend
