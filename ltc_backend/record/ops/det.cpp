//===- ops/det.cpp - Gradients of determinants ----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/det.h"

#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/no_grad.h"
#include "ltc_backend/record/under_transform.h"

#include <ATen/ATen.h>
#include <ATen/ops/linalg_det_native.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ltc::backend {
namespace {
using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

double epsilon(at::ScalarType type) {
  return at::toRealValueType(type) == at::kDouble
             ? std::numeric_limits<double>::epsilon()
             : double(std::numeric_limits<float>::epsilon());
}

/// A number for each matrix, as matrices of one element.
Tensor asMatrix(const Tensor &x) { return x.unsqueeze(-1).unsqueeze(-1); }

/// The gradient G of det(A) solves A^H G = conj(det(A)) grad I; this is what
/// stands to the right.
Tensor rightSide(const Tensor &matrix, const Tensor &det, const Tensor &grad) {
  return asMatrix(grad * det.conj()) *
         at::eye(matrix.size(-1), matrix.options());
}

/// Of a singular matrix, where the determinant is smooth too, that of one
/// nearby: zeros among U's pivots are taken as epsilon. `lu` is of the
/// transposed of a real matrix.
Tensor once(const Tensor &matrix, const Tensor &det, const Tensor &lu,
            const Tensor &pivots, const Tensor &grad) {
  Tensor isZero = lu.diagonal(0, -2, -1) == 0;
  Tensor regular = lu + at::diag_embed(isZero * epsilon(matrix.scalar_type()));
  return at::linalg_lu_solve(regular, pivots, rightSide(matrix, det, grad),
                             /*left=*/true, /*adjoint=*/matrix.is_complex());
}

/// Of any matrix whose singular values differ: its adjugate's conjugate
/// transposed, det(U V^H) U diag(products of the other values) V^H (N. Higham,
/// What Is the Adjugate of a Matrix?).
Tensor bySingularValues(const Tensor &matrix, const Tensor &grad) {
  auto [u, values, vh] = at::linalg_svd(matrix);
  int64_t n = values.size(-1);
  Tensor one = at::ones_like(values.narrow(-1, 0, 1));
  Tensor before = at::cat({one, values.narrow(-1, 0, n - 1)}, -1).cumprod(-1);
  Tensor behind = at::cat({one, values.narrow(-1, 1, n - 1).flip(-1)}, -1)
                      .cumprod(-1)
                      .flip(-1);
  Tensor sign = (at::linalg_det(u) * at::linalg_det(vh)).conj() * grad;
  Tensor others = sign.unsqueeze(-1) * (before * behind);
  return (u * others.unsqueeze(-2)).matmul(vh);
}

/// Each matrix by its own formula; the other one gets a matrix for which it and
/// its derivatives are finite.
Tensor differentiable(const Tensor &matrix, const Tensor &det,
                      const Tensor &grad) {
  int64_t n = matrix.size(-1);
  auto real = at::toRealValueType(matrix.scalar_type());
  Tensor one = at::eye(n, matrix.options());
  Tensor distinct = one * at::arange(1, n + 1, matrix.options().dtype(real));
  Tensor isSingular = asMatrix(det.abs() < 100 * epsilon(matrix.scalar_type()));
  Tensor solved = at::linalg_solve(
      at::where(isSingular, one, matrix).mH(),
      at::where(isSingular, one, rightSide(matrix, det, grad)));
  return at::where(
      isSingular,
      bySingularValues(at::where(isSingular, matrix, distinct), grad), solved);
}

struct Det : torch::autograd::Function<Det> {
  static Tensor forward(AutogradContext *context, const Tensor &matrix) {
    auto [det, lu, pivots] = at::_linalg_det(matrix);
    context->save_for_backward({matrix, det, lu, pivots});
    return det;
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &grads) {
    auto saved = context->get_saved_variables();
    const Tensor &matrix = saved[0], &det = saved[1], &grad = grads[0];
    if (!grad.defined())
      return {Tensor()};
    if (matrix.numel() == 0)
      return {at::zeros_like(matrix)};
    return {at::GradMode::is_enabled()
                ? differentiable(matrix, det, grad)
                : once(matrix, det, saved[2], saved[3], grad)};
  }
};

Tensor linalgDet(const Tensor &matrix) {
  return isTracked(matrix) && !isUnderTransform(matrix)
             ? Det::apply(matrix)
             : at::native::linalg_det(matrix);
}

/// Formulas of autograd's ask how the matrix is laid out to know whether its
/// transposed was decomposed. Kernels find ours dense, whatever it says.
struct OfDense final : KernelOverride {
  using KernelOverride::KernelOverride;

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const Tensor matrix = stack->back().toTensor();
    if (matrix.device().is_lazy())
      stack->back() = matrix.contiguous();
    stock.callBoxed(op, keys, stack);
  }
};

} // namespace

void registerDet() {
  using c10::DispatchKey;
  autogradLibrary().impl("linalg_det", linalgDet);
  // The wrappers of torch.func's transforms, of all devices, have the last key.
  for (DispatchKey key :
       {DispatchKey::AutogradLazy, DispatchKey::AutogradOther}) {
    torch::Library *library = makeLibrary("aten", key);
    for (const char *name : {"_linalg_det", "_linalg_slogdet"})
      implementBoxed<OfDense>(*library, name, atenOp(name), key);
  }
}

} // namespace ltc::backend
