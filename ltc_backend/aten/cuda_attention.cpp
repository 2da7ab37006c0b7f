//===- cuda_attention.cpp - The CPU's attention on a GPU ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda_attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace ltc::backend {
namespace {

using at::Tensor;
using Stack = std::vector<c10::IValue>;
using Results = c10::ArrayRef<Tensor>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What both directions are given. Shapes are (batch, heads, length, width).
struct Attention {
  const Tensor &q, &k, &v;
  bool isCausal;
  Tensor mask; ///< undefined: none
  double scale;

  Attention(const Tensor &q, const Tensor &k, const Tensor &v,
            const c10::IValue &causal, const c10::IValue &mask,
            const c10::IValue &scale)
      : q(q), k(k), v(v), isCausal(causal.toBool()),
        scale(scale.isNone() ? 1 / std::sqrt(double(q.size(3)))
                             : scale.toDouble()) {
    if (!mask.isNone() && mask.toTensor().defined())
      this->mask = mask.toTensor();
  }

  /// CUDA's kernel reads rows of whole vectors, and has no f64.
  bool isForKernel() const {
    constexpr int64_t vector = 8;
    return q.scalar_type() != at::kDouble && q.size(3) % vector == 0 &&
           v.size(3) % vector == 0;
  }

  /// Its rows begin at a multiple of 16 elements.
  std::optional<Tensor> maskForKernel() const {
    if (!mask.defined())
      return std::nullopt;
    constexpr int64_t alignment = 16;
    int64_t length = k.size(2), more = alignment - length % alignment;
    Tensor aligned =
        mask.expand({mask.size(0), mask.size(1), mask.size(2), length});
    if (more != alignment)
      aligned = at::constant_pad_nd(aligned, {0, more}).slice(-1, 0, length);
    return aligned.expand({q.size(0), q.size(1), q.size(2), length});
  }

  /// What the softmax is of, in at least f32.
  Tensor scores() const {
    Tensor all = at::matmul(wide(q), wide(k).transpose(2, 3)) * scale;
    if (mask.defined())
      all = all + wide(mask);
    if (!isCausal)
      return all;
    Tensor isLater =
        at::ones({q.size(2), k.size(2)}, all.options().dtype(at::kBool))
            .triu(1);
    return all.masked_fill(isLater, -kInfinity);
  }

  static Tensor wide(const Tensor &x) {
    return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  }
};

/// Rows without any element to attend to are zeros.
Tensor weightsOf(const Tensor &scores, const Tensor &sums) {
  return (scores - sums.unsqueeze(3)).exp().nan_to_num(0);
}

/// (q, k, v, dropout, causal, mask, scale)
bool forward(const Stack &a, Results r, const at::Generator &) {
  Attention of(a[0].toTensor(), a[1].toTensor(), a[2].toTensor(), a[4], a[5],
               a[6]);
  if (!of.isForKernel()) {
    Tensor scores = of.scores(), sums = scores.logsumexp({3});
    r[0].copy_(at::matmul(weightsOf(scores, sums), Attention::wide(of.v)));
    r[1].copy_(sums);
    return true;
  }
  auto [out, sums, seed, offset] = at::_scaled_dot_product_efficient_attention(
      of.q, of.k, of.v, of.maskForKernel(), /*compute_log_sumexp=*/true, 0.0,
      of.isCausal, of.scale);
  r[0].copy_(out);
  r[1].copy_(sums.slice(2, 0, of.q.size(2)));
  return true;
}

void plainBackward(const Attention &of, const Tensor &gradient,
                   const Tensor &out, const Tensor &sums, Results r) {
  Tensor wide = Attention::wide(gradient), v = Attention::wide(of.v);
  Tensor weights = weightsOf(of.scores(), sums);
  Tensor along = (wide * out).sum(3, /*keepdim=*/true);
  Tensor ofScores =
      weights * (at::matmul(wide, v.transpose(2, 3)) - along) * of.scale;
  r[0].copy_(at::matmul(ofScores, Attention::wide(of.k)));
  r[1].copy_(at::matmul(ofScores.transpose(2, 3), Attention::wide(of.q)));
  r[2].copy_(at::matmul(weights.transpose(2, 3), wide));
}

/// (grad, q, k, v, out, sums, dropout, causal, mask, scale)
bool backward(const Stack &a, Results r, const at::Generator &) {
  Attention of(a[1].toTensor(), a[2].toTensor(), a[3].toTensor(), a[7], a[8],
               a[9]);
  const Tensor &gradient = a[0].toTensor(), &out = a[4].toTensor();
  Tensor sums = a[5].toTensor();
  if (!of.isForKernel()) {
    plainBackward(of, gradient, out, sums, r);
    return true;
  }
  constexpr int64_t alignment = 32; // of the sums
  if (int64_t over = of.q.size(2) % alignment)
    sums = at::constant_pad_nd(sums, {0, alignment - over}, kInfinity);
  Tensor unused = at::empty({}, at::kLong); // a seed and an offset
  std::optional<Tensor> mask = of.maskForKernel();
  auto [dq, dk, dv, ofMask] =
      at::_scaled_dot_product_efficient_attention_backward(
          gradient, of.q, of.k, of.v, mask ? *mask : Tensor(), out, sums,
          unused, unused, 0.0, {true, true, true, false}, of.isCausal,
          of.scale);
  r[0].copy_(dq);
  r[1].copy_(dk);
  r[2].copy_(dv);
  return true;
}

} // namespace

AttentionCall cudaAttention(std::string_view op) {
  if (op == "aten::_scaled_dot_product_flash_attention_for_cpu")
    return forward;
  if (op == "aten::_scaled_dot_product_flash_attention_for_cpu_backward")
    return backward;
  return nullptr;
}

} // namespace ltc::backend
