//===- writes/overlap.h - Writes through views that repeat their base -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation carries a write back to its base through the inverse of
// each view. Those of expand and unfold add up what meets in one place and zero
// what the view does not show; a chain with as_strided has none. Here the
// places that a view shows are found by taking the view of 0, 1, 2, ..., and
// what is written goes to them at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Whether the call writes to such a view; then it has been run: on a copy
/// whose values went to the places, or raised where eager's result depends on
/// the order of its writes. For Functionalize kernels, after a WriteCheck.
bool wroteToPlaces(const c10::OperatorHandle &op, torch::jit::Stack &stack);

} // namespace ltc::backend
