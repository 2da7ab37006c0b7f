//===- tensors/lazy_tensor.h - Lazy tensors, wrapped or bare ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/bare_tensor.h"

namespace ltc::backend {

/// The LTC tensor inside, through a functional wrapper if there is one; null
/// if `tensor` is undefined or not lazy. Takes a view that has not been taken,
/// and does not sync the wrapper otherwise.
torch::lazy::LTCTensorImpl *lazyImpl(const at::Tensor &tensor);
inline bool isLazy(const at::Tensor &tensor) { return lazyImpl(tensor); }
TensorDataPtr tensorData(const at::Tensor &lazy);
/// The same value in a bare tensor of its own: values are immutable, so a copy
/// is another name for it.
at::Tensor sameValue(const at::Tensor &lazy, const Layout &layout);

/// The data of a functional tensor that is alone, if nothing below
/// functionalisation has got hold of it either; null for others.
TensorData *ownData(const at::Tensor &tensor);

} // namespace ltc::backend
