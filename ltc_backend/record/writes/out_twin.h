//===- writes/out_twin.h - out= ops that lose what they should write ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Replaces, for lazy tensors, the out= kernels of PyTorch that are wrong
/// there: linalg_matrix_rank assigns to its C++ variable in place of the
/// tensor, kron to one that it has resized to be a view, functionalisation
/// gives _native_batch_norm_legit's results to the wrong tensors, and warns of
/// no resizing where the shape depends on values. The op without out= runs, and
/// its results are copied.
void registerOutTwins();

} // namespace ltc::backend
