//===- views/direct_view.h - The commonest views, no detours ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// What direct.h does for other ops, for the commonest views. `library` is
/// aten's on the Functionalize key, which has all its other kernels.
void registerDirectViews(torch::Library &library);

/// The view with these sizes, one of which may be -1. Undefined where there is
/// none, where autograd would have a part in it, and of what is no lazy tensor.
at::Tensor takeViewAs(const at::Tensor &self, c10::SymIntArrayRef sizes);

} // namespace ltc::backend
