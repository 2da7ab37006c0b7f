//===- choose_shares.h - Which loops a block's threads share ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/loops/choose_loops.h"

namespace ltc::compiler {

/// Vectors of 16 bytes of the widest element, or scalars: loads that are no
/// vectors are as fast with one lane a thread.
LoopChoice chooseShares(mlir::linalg::GenericOp op, const Nest &nest,
                        unsigned vectorBits);

/// The reduction that the threads of a block fold together, the longest, or -1
/// if there are results enough for all of them.
int chooseFold(const Nest &nest, const LoopChoice &choice, int64_t threads);

} // namespace ltc::compiler
