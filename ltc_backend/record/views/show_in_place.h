//===- views/show_in_place.h - Tensors that become views --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// t_(), set_() and their like, which change what a tensor shows. `library` is
/// aten's on the Functionalize key, which has all its other kernels.
void registerShowInPlace(torch::Library &library);

} // namespace ltc::backend
