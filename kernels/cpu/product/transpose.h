//===- transpose.h - Columns become rows ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ltc::kernels {

/// Column c of `from`, rows * cols, becomes row c of `to`.
void transpose(int64_t rows, int64_t cols, const float *from,
               int64_t fromStride, float *to, int64_t toStride);

} // namespace ltc::kernels
