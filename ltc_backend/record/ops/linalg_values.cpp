//===- ops/linalg_values.cpp - Values without their vectors -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The composite kernels compute the vectors too, which is two thirds of the
// work, for any tensor that functionalisation has wrapped: gradients might be
// taken of it. Here that is known.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/linalg_values.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/no_grad.h"

#include <ATen/ops/_linalg_eigh.h>
#include <ATen/ops/_linalg_eigvals.h>
#include <ATen/ops/_linalg_svd.h>
#include <ATen/ops/linalg_eig.h>

namespace ltc::backend {
using at::Tensor;

static Tensor singularValues(const Tensor &matrix,
                             std::optional<std::string_view> driver) {
  return std::get<1>(at::_linalg_svd(matrix, /*full_matrices=*/false,
                                     /*compute_uv=*/isTracked(matrix), driver));
}

static Tensor eigenvalues(const Tensor &matrix) {
  return isTracked(matrix) ? std::get<0>(at::linalg_eig(matrix))
                           : at::_linalg_eigvals(matrix);
}

static Tensor eigenvaluesOfHermitian(const Tensor &matrix,
                                     std::string_view triangle) {
  return std::get<0>(
      at::_linalg_eigh(matrix, triangle, /*compute_v=*/isTracked(matrix)));
}

void registerLinalgValues(torch::Library &library) {
  for (torch::Library *aten :
       {&library, makeLibrary("aten", c10::DispatchKey::AutogradLazy)}) {
    aten->impl("linalg_svdvals", singularValues);
    aten->impl("linalg_eigvals", eigenvalues);
    aten->impl("linalg_eigvalsh", eigenvaluesOfHermitian);
  }
}

} // namespace ltc::backend
