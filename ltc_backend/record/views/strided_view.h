//===- views/strided_view.h - Views that ask about strides ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Whether a functional tensor is a view that takes its storage for another
/// dtype.
bool changesElements(const at::Tensor &self);

/// view() refuses what its strides cannot do, and as_strided() looks at the
/// storage under its tensor. `library` is aten's on the Functionalize key.
void registerStridedViews(torch::Library &library);

} // namespace ltc::backend
