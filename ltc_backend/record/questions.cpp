//===- record/questions.cpp - Answers from metadata alone -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/questions.h"

#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/stand_in.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

static bool hasSameStorageNumel(const Tensor &self, const Tensor &other) {
  return self.numel() == other.numel();
}

static bool equal(const Tensor &self, const Tensor &other) {
  static const c10::OperatorHandle op = atenOp("equal");
  // Of which the kernel of the CPU knows nothing, unlike eq()'s.
  if (self.scalar_type() == at::kComplexHalf)
    callOnStandIns(op, {onCpuSmall.make(self), onCpuSmall.make(other)});
  return self.sizes() == other.sizes() &&
         at::eq(self, other).all().item<bool>();
}

static bool allclose(const Tensor &self, const Tensor &other, double rtol,
                     double atol, bool equalNan) {
  return at::isclose(self, other, rtol, atol, equalNan).all().item<bool>();
}

void registerQuestions(torch::Library &library) {
  library.impl("_has_same_storage_numel", hasSameStorageNumel);
  library.impl("equal", equal);
  library.impl("allclose", allclose);
}

} // namespace ltc::backend
