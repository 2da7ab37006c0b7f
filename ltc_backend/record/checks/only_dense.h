//===- checks/only_dense.h - Tensors that a device has none of --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Lazy tensors are dense: lets every op that would make or take a sparse,
/// nested or quantized one say so, by its name and the user's line.
void registerRefusals();

} // namespace ltc::backend
