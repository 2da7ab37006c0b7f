//===- ops/linear_combination.cpp - Sums of matrices ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/linear_combination.h"

#include "ltc_backend/record/kernel_override.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

void registerLinearCombination(torch::Library &library) {
  implement(library, "_compute_linear_combination.out",
            [](const Tensor &matrices, const Tensor &coefficients,
               Tensor &out) -> Tensor & {
              return out.add_(
                  at::_compute_linear_combination(matrices, coefficients));
            });
}

} // namespace ltc::backend
