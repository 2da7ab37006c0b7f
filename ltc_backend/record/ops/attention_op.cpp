//===- ops/attention_op.cpp - The route through attention -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The composite kernel asks only the devices that it knows for a choice, and
// takes two products and a softmax for all others. Eager CPU's answer depends
// on shapes alone: where it is the fused kernel, that is recorded, one call.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/attention_op.h"

#include "ltc_backend/library.h"
#include <ATen/ATen.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace ltc::backend {
using at::Tensor;
using Mask = std::optional<Tensor>;

static int64_t fusedSdpChoice(const Tensor &query, const Tensor &key,
                              const Tensor &value, const Mask &mask,
                              double dropout, bool causal,
                              std::optional<double> scale, bool enableGqa) {
  auto like = [](const Tensor &tensor) {
    return at::empty(tensor.sizes(), tensor.scalar_type())
        .set_requires_grad(tensor.requires_grad());
  };
  Mask hostMask;
  if (mask && mask->defined())
    hostMask = like(*mask);
  return at::_fused_sdp_choice(like(query), like(key), like(value), hostMask,
                               dropout, causal, scale, enableGqa);
}

/// What is kept, as a summand of the scores.
static Mask summand(const Mask &mask, at::ScalarType dtype) {
  if (!mask || mask->scalar_type() != at::kBool)
    return mask;
  return at::zeros_like(*mask, mask->options().dtype(dtype))
      .masked_fill(mask->logical_not(), -HUGE_VAL);
}

/// Of others eager takes two products, whose result is dense; the fused
/// kernel's is laid out as the query.
static bool isByRows(const Tensor &tensor) { return tensor.stride(3) == 1; }

static Tensor attention(const Tensor &query, const Tensor &key,
                        const Tensor &value, const Mask &mask, double dropout,
                        bool causal, std::optional<double> scale,
                        bool enableGqa) {
  // Everything else, and everything that is an error, is the composite's.
  bool regular = true;
  for (const Tensor *tensor : {&query, &key, &value})
    regular &= tensor->dim() == 4 && tensor->is_floating_point() &&
               tensor->device() == query.device() &&
               tensor->scalar_type() == query.scalar_type();
  regular &= !mask || mask->scalar_type() == at::kBool ||
             mask->scalar_type() == query.scalar_type();
  if (regular &&
      fusedSdpChoice(query, key, value, mask, dropout, causal, scale,
                     enableGqa) == int64_t(sdp::SDPBackend::flash_attention))
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
        isByRows(query) && isByRows(key) && isByRows(value)
            ? query
            : query.contiguous(),
        key, value, dropout, causal, summand(mask, query.scalar_type()),
        scale));
  return at::native::scaled_dot_product_attention(
      query, key, value, mask, dropout, causal, scale, enableGqa);
}

void registerAttention() {
  using c10::DispatchKey;
  for (DispatchKey key :
       {DispatchKey::Functionalize, DispatchKey::AutogradLazy})
    makeLibrary("aten", key)->impl("scaled_dot_product_attention", attention);
  makeLibrary("aten", DispatchKey::Lazy)
      ->impl("_fused_sdp_choice", fusedSdpChoice);
}

} // namespace ltc::backend
