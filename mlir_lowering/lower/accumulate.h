//===- accumulate.h - A sum with a product is one call ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

namespace ltc::compiler {

/// Rewrites x + mm(a, b) to addmm(x, a, b) where nobody else reads x or the
/// product, as when gradients of one weight are added up: the library adds
/// while it multiplies, in x's memory. Float32 and float64, whose products
/// round no intermediate result. Before that a batch times an expanded matrix
/// becomes one product, if sizes are known.
void accumulateProducts(mlir::Operation *root);

} // namespace ltc::compiler
