//===- record/predicates.cpp - Answers from metadata alone ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/predicates.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/probe.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

static bool hasSameStorageNumel(const Tensor &self, const Tensor &other) {
  return self.numel() == other.numel();
}

/// Forward-mode AD asks it of each tangent.
static bool isSameSize(const Tensor &self, const Tensor &other) {
  return self.sym_sizes().equals(other.sym_sizes());
}

static bool equal(const Tensor &self, const Tensor &other) {
  static const c10::OperatorHandle op = atenOp("equal");
  // Of which the kernel of the CPU knows nothing, unlike eq()'s.
  if (self.scalar_type() == at::kComplexHalf)
    callOnProbes(op, {onCpuSmall.make(self), onCpuSmall.make(other)});
  return self.sizes() == other.sizes() &&
         at::eq(self, other).all().item<bool>();
}

static bool allclose(const Tensor &self, const Tensor &other, double rtol,
                     double atol, bool equalNan) {
  return at::isclose(self, other, rtol, atol, equalNan).all().item<bool>();
}

/// Those inside have storages of their own.
static bool isSetTo(const Tensor &self, const Tensor &other) {
  return self.is_alias_of(other) && self.sizes() == other.sizes() &&
         self.strides() == other.strides() &&
         self.storage_offset() == other.storage_offset();
}

void registerPredicates(torch::Library &library) {
  torch::Library *functionalize =
      makeLibrary("aten", c10::DispatchKey::Functionalize);
  functionalize->impl("is_set_to", isSetTo);
  functionalize->impl("is_same_size", isSameSize);
  library.impl("_has_same_storage_numel", hasSameStorageNumel);
  library.impl("equal", equal);
  library.impl("allclose", allclose);
}

} // namespace ltc::backend
