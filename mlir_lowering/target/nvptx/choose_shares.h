//===- choose_shares.h - Which loops a block's threads share ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/loops/choose_loops.h"

namespace ltc::compiler {

/// Bits of the widest element that ops of a kernel read or write side by side.
/// Temporaries count for nothing: most are in registers.
unsigned widestElement(llvm::ArrayRef<mlir::linalg::GenericOp> ops);

/// Vectors of so many elements, or scalars: loads that are no vectors are as
/// fast with one lane a thread.
LoopChoice chooseShares(mlir::linalg::GenericOp op, const Nest &nest,
                        unsigned vectorBits, int64_t lanes);

/// How long a loop through a tile is at most; 0 if nothing says so.
int64_t mostOf(const Loop &loop);

/// The reduction that the threads of a block fold together, the longest, or -1
/// if there are results enough for all of them.
int chooseFold(const Nest &nest, const LoopChoice &choice, int64_t threads);

} // namespace ltc::compiler
