//===- attention_calls.cpp - Attention as a graph calls it ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attention/attention.h"
#include "attention/bfloat16_rows.h"
#include "attention/plain_attention.h"
#include "rows.h"

#include <array>
#include <cmath>
#include <optional>

namespace ltc::kernels {
namespace {

/// A mask (batch, heads, queries, keys) of one of (queries, keys), and float32
/// of bfloat16.
class Mask {
public:
  /// `given` has two or four dimensions.
  void read(const TensorView &given) {
    view = given;
    if (given.rank == 2) {
      std::ranges::copy(given.shape(), sizes.begin() + 2);
      std::ranges::copy(std::span(given.strides, 2), strides.begin() + 2);
      view.sizes = sizes.data();
      view.strides = strides.data();
      view.rank = 4;
    }
  }

  /// Rows, whose elements are next to each other, one after the other.
  void widen() {
    if (!view.isDefined() || view.dtype == DType::F32)
      return;
    int64_t width = view.size(3), at = 0;
    widened.resize(view.elements());
    for (int64_t b = 0; b < view.size(0); ++b)
      for (int64_t h = 0; h < view.size(1); ++h)
        for (int64_t q = 0; q < view.size(2); ++q, at += width)
          widenRow(width,
                   view.as<uint16_t>() + b * view.stride(0) +
                       h * view.stride(1) + q * view.stride(2),
                   widened.data() + at);
    std::ranges::copy(view.shape(), sizes.begin());
    strides = {view.size(1) * view.size(2) * width, view.size(2) * width, width,
               1};
    view.data = widened.data();
    view.sizes = sizes.data();
    view.strides = strides.data();
    view.dtype = DType::F32;
  }

  TensorView view;

private:
  std::array<int64_t, 4> sizes{1, 1}, strides{};
  std::vector<float> widened;
};

/// What both calls have.
class AttentionCall : public OwnKernel {
protected:
  explicit AttentionCall(const Arguments &of)
      : query(of.tensor("query")), key(of.tensor("key")),
        value(of.tensor("value")), maskArgument(of.tensor("attn_mask")),
        dropout(of.number("dropout_p")), scale(of.number("scale")),
        isScaled(of.isGiven("scale")), isCausal(of.flag("is_causal")) {}

  /// Nothing if it is not for us.
  std::optional<Attention> attentionOf(Views operands, Views results) {
    TensorView q = query.in(operands), k = key.in(operands),
               v = value.in(operands);
    mask.read(maskArgument.in(operands));
    if (dropout.in(operands) != 0 || !attentionPays(q, k, v, mask.view))
      return std::nullopt;
    for (const TensorView &result : results)
      if (result.rank == 4 &&
          (result.stride(3) != 1 || result.stride(2) < result.size(3)))
        return std::nullopt;
    mask.widen();
    return whole(operands);
  }

  /// Whatever it is; nothing if it drops some.
  std::optional<Attention> plainOf(Views operands) {
    mask.read(maskArgument.in(operands));
    if (dropout.in(operands) != 0)
      return std::nullopt;
    return whole(operands);
  }

private:
  Attention whole(Views operands) const {
    TensorView q = query.in(operands);
    double factor =
        isScaled ? scale.in(operands) : 1 / std::sqrt(double(q.size(3)));
    return {q,         key.in(operands), value.in(operands),
            mask.view, isCausal,         float(factor)};
  }

  const Operand query, key, value, maskArgument;
  const Number dropout, scale;
  const bool isScaled, isCausal;
  Mask mask;
};

class Forward final : public AttentionCall {
public:
  explicit Forward(const Arguments &of) : AttentionCall(of) {}

  bool run(Views operands, Views results) override {
    auto call = attentionOf(operands, results);
    if (call)
      attention(*call, results[0], results[1]);
    return call.has_value();
  }

  Result<bool> runPlainly(Views operands, Views results) override {
    auto call = plainOf(operands);
    return call && plainAttention(*call, results[0], results[1]);
  }
};

class Backward final : public AttentionCall {
public:
  explicit Backward(const Arguments &of)
      : AttentionCall(of), grad(of.tensor("grad_out")),
        output(of.tensor("out")), logSums(of.tensor("logsumexp")) {}

  bool run(Views operands, Views results) override {
    TensorView gradOutput = grad.in(operands), made = output.in(operands);
    auto call = attentionOf(operands, results);
    if (!call || !attentionBackwardPays(call->query, call->key) ||
        gradOutput.stride(3) != 1 || made.stride(3) != 1)
      return false;
    attentionBackward(*call, gradOutput, made, logSums.in(operands), results[0],
                      results[1], results[2]);
    return true;
  }

private:
  const Operand grad, output, logSums;
};

} // namespace

std::unique_ptr<OwnKernel> bindAttention(const Graph &call) {
  return Arguments(call).results() == 2 ? bindAs<Forward>(call) : nullptr;
}

std::unique_ptr<OwnKernel> bindAttentionBackward(const Graph &call) {
  return Arguments(call).results() == 3 ? bindAs<Backward>(call) : nullptr;
}

} // namespace ltc::kernels
