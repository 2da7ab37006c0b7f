//===- plain_attention.h - Attention by plain loops -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention/attention.h"

namespace ltc::kernels {

/// Does what attention() does for any sizes and strides, with a mask of the
/// query's type, or says false: of other types than float32 and float64.
bool plainAttention(const Attention &of, const TensorView &output,
                    const TensorView &logSums);

} // namespace ltc::kernels
