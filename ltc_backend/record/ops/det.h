//===- ops/det.h - Gradients of determinants --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Differentiates linalg_det as eager does. For tensors like ours PyTorch's
/// formula for gradients that are differentiated again goes by singular values,
/// which must differ from each other; eager's takes it for singular matrices
/// alone, and solves a system for others. Formulas of det and slogdet get a
/// matrix that says it is dense, as kernels find it.
void registerDet();

} // namespace ltc::backend
