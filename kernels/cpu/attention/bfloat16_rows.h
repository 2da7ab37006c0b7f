//===- bfloat16_rows.h - To bfloat16 and back -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ltc::kernels {

/// Numbers whose bits are the upper half of a float's.
void widenRow(int64_t count, const uint16_t *from, float *to);

/// To the nearest, to even from halfway; NaN as ATen writes it.
void roundRow(int64_t count, const float *from, uint16_t *to);

} // namespace ltc::kernels
