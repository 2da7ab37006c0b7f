//===- attention.h - Attention around oneDNN's kernel -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ATen's fused kernel calls MKL for the products of each tile, which is given
// no panels that fit, and its backward multiplies what a causal mask hides.
// Here the same tiles, after T. Dao, "FlashAttention-2" (2023), are packed for
// the kernel that gemm.h says why to take.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "ltc/types.h"

namespace ltc::kernels {

/// What the kernels below compute: softmax(scale * query key' + mask) value.
/// Tensors are (batch, heads, length, width), all float32 or all bfloat16, on
/// the CPU; `logSums` is (batch, heads, query length). Key and value are as
/// long as each other, all rows as wide, and their elements next to each other.
/// The mask, undefined if there is none, broadcasts to (batch, heads, queries,
/// keys); its elements for one query are next to each other. It is float32, as
/// `logSums` is.
struct Attention {
  TensorView query, key, value, mask;
  bool causal; ///< a query sees no key of a later place
  float scale;
};

/// Whether operands are as above, but for a mask of their own type, and these
/// kernels faster than ATen's.
bool attentionPays(const TensorView &query, const TensorView &key,
                   const TensorView &value, const TensorView &mask = {});

/// Writes the output and the logarithms of the sums of e^score. Both run on
/// the library's threads, whose number changes no value. Scratch stays with the
/// threads: at most 2.5 MiB each, and for bfloat16 2 MiB and two floats for
/// each element of a head's key.
void attention(const Attention &of, const TensorView &output,
               const TensorView &logSums);

/// Queries that are few: attention() then takes attentionOfFew().
inline constexpr int64_t kFewQueries = 8;
void attentionOfFew(const Attention &of, const TensorView &output,
                    const TensorView &logSums);

/// Whether the gradients pay too: few queries' are left to ATen.
bool attentionBackwardPays(const TensorView &query, const TensorView &key);

/// Writes the gradients with respect to query, key and value, from that with
/// respect to `output`.
void attentionBackward(const Attention &of, const TensorView &gradOutput,
                       const TensorView &output, const TensorView &logSums,
                       const TensorView &gradQuery, const TensorView &gradKey,
                       const TensorView &gradValue);

} // namespace ltc::kernels
