//===- record/questions.cpp - Answers from metadata alone -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/questions.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

/// Attention takes the route that eager CPU takes for these shapes, so that
/// both run the same kernel: one call, not a chain of five ops.
static int64_t fusedSdpChoice(const Tensor &query, const Tensor &key,
                              const Tensor &value,
                              const std::optional<Tensor> &mask, double dropout,
                              bool causal, std::optional<double> scale,
                              bool enableGqa) {
  auto like = [](const Tensor &tensor) {
    return at::empty(tensor.sizes(), tensor.scalar_type());
  };
  std::optional<Tensor> hostMask;
  if (mask && mask->defined())
    hostMask = like(*mask);
  return at::_fused_sdp_choice(like(query), like(key), like(value), hostMask,
                               dropout, causal, scale, enableGqa);
}

static bool hasSameStorageNumel(const Tensor &self, const Tensor &other) {
  return self.numel() == other.numel();
}

static bool equal(const Tensor &self, const Tensor &other) {
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "Expected all tensors to have the same dtype, but found ",
              self.scalar_type(), " and ", other.scalar_type());
  return self.sizes() == other.sizes() &&
         at::eq(self, other).all().item<bool>();
}

static bool allclose(const Tensor &self, const Tensor &other, double rtol,
                     double atol, bool equalNan) {
  return at::isclose(self, other, rtol, atol, equalNan).all().item<bool>();
}

void registerQuestions(torch::Library &library) {
  library.impl("_fused_sdp_choice", fusedSdpChoice);
  library.impl("_has_same_storage_numel", hasSameStorageNumel);
  library.impl("equal", equal);
  library.impl("allclose", allclose);
}

} // namespace ltc::backend
