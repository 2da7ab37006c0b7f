//===- direct.cpp - The hot operators without the dispatcher ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "direct.h"

#include "../parallel.h"
#include "attention.h"
#include "concatenate.h"
#include "convolution.h"
#include "gemm.h"
#include "running_sums.h"

#include "ltc/optimizations.h"
#include "ltc/settings.h"

#include <ATen/ops/_index_put_impl.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/bernoulli_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/fill_cpu_dispatch.h>
#include <ATen/ops/index_copy_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zero_cpu_dispatch.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace ltc::backend {
namespace {

using Results = c10::ArrayRef<at::Tensor>;

/// A handle to the same tensor that ATen's `out` parameters accept.
at::Tensor &writable(const at::Tensor &result) {
  return const_cast<at::Tensor &>(result);
}

MatrixView matrix(const at::Tensor &t) {
  return {t.const_data_ptr<float>(), t.size(0), t.size(1), t.stride(0),
          t.stride(1)};
}

/// Writes `a b + addend` by gemm(), or says that ATen should.
bool tryGemm(const at::Tensor &a, const at::Tensor &b, const at::Tensor &addend,
             const at::Tensor &c) {
  if (c.scalar_type() != at::kFloat || c.stride(1) != 1 ||
      c.stride(0) < c.size(1))
    return false;
  MatrixView left = matrix(a), right = matrix(b), added{};
  if (!gemmPays(left, right))
    return false;
  if (addend.defined())
    added = matrix(addend.expand(c.sizes()));
  gemm(left, right, added, {c.mutable_data_ptr<float>(), c.stride(0)});
  return true;
}

bool mm(const Stack &a, Results r, const at::Generator &) {
  const at::Tensor &left = a[0].toTensor(), &right = a[1].toTensor();
  if (tryGemm(left, right, {}, r[0]))
    return true;
  prepareForAten();
  at::cpu::mm_outf(left, right, writable(r[0]));
  return true;
}

bool bmm(const Stack &a, Results r, const at::Generator &) {
  prepareForAten();
  at::cpu::bmm_outf(a[0].toTensor(), a[1].toTensor(), writable(r[0]));
  return true;
}

bool addmm(const Stack &a, Results r, const at::Generator &) {
  const at::Tensor &self = a[0].toTensor(), &left = a[1].toTensor(),
                   &right = a[2].toTensor();
  at::Scalar beta = a[3].toScalar(), alpha = a[4].toScalar();
  bool plain = beta.equal(1) && alpha.equal(1);
  if (plain && tryGemm(left, right, self, r[0]))
    return true;
  prepareForAten();
  at::cpu::addmm_outf(self, left, right, beta, alpha, writable(r[0]));
  return true;
}

bool baddbmm(const Stack &a, Results r, const at::Generator &) {
  prepareForAten();
  at::cpu::baddbmm_outf(a[0].toTensor(), a[1].toTensor(), a[2].toTensor(),
                        a[3].toScalar(), a[4].toScalar(), writable(r[0]));
  return true;
}

/// Without elements, two tensors may have one address by chance.
bool isThere(const at::Tensor &self, const at::Tensor &result) {
  return result.numel() != 0 &&
         self.const_data_ptr() == result.const_data_ptr() &&
         self.strides() == result.strides();
}

/// Few elements over `self`, as when a text is written a letter at a time. For
/// so few ATen takes one thread, and a region may stay open.
bool indexCopy(const Stack &a, Results r, const at::Generator &) {
  const at::Tensor &source = a[3].toTensor();
  if (source.numel() >= at::internal::GRAIN_SIZE ||
      !isThere(a[0].toTensor(), r[0]))
    return false;
  at::cpu::index_copy_outf(r[0], a[1].toInt(), a[2].toTensor(), source,
                           writable(r[0]));
  return true;
}

/// Over `self` where that lies in the result's memory, else over a copy of it.
bool indexPut(const Stack &a, Results r, const at::Generator &) {
  prepareForAten();
  const at::Tensor &self = a[0].toTensor(), &result = r[0];
  if (!isThere(self, result))
    writable(result).copy_(self);
  at::_index_put_impl_(writable(result), a[1].toOptionalTensorList(),
                       a[2].toTensor(), a[3].toBool());
  return true;
}

bool cat(const Stack &a, Results r, const at::Generator &) {
  return tryConcatenate(a[0].toTensorList(), a[1].toInt(), r[0]);
}

bool cumsum(const Stack &a, Results r, const at::Generator &) {
  return tryRunningSums(a[0].toTensor(), a[1].toInt(), r[0]);
}

/// ATen's own draws from the process's generator; this one draws the same
/// numbers in the same order from the generator of the call.
bool nativeDropout(const Stack &a, Results r, const at::Generator &generator) {
  prepareForAten();
  const at::Tensor &input = a[0].toTensor();
  at::Tensor &mask = writable(r[1]);
  bool train = a[2].isNone() || a[2].toBool();
  if (!train) {
    writable(r[0]).copy_(input);
    at::cpu::fill_(mask, true);
    return true;
  }
  double keep = 1 - a[1].toDouble();
  at::cpu::bernoulli_(mask, keep, generator);
  at::mul_out(writable(r[0]), input, mask);
  writable(r[0]).mul_(keep == 0 ? 0.0 : 1 / keep);
  return true;
}

/// The call whose query is argument `query`, and whose dropout, causality, mask
/// and scale are arguments from `dropout` on; nothing if it is not for us.
std::optional<Attention> plainAttention(const Stack &a, size_t query,
                                        size_t dropout, Results results) {
  const at::Tensor &q = a[query].toTensor(), &k = a[query + 1].toTensor(),
                   &v = a[query + 2].toTensor();
  const c10::IValue &scale = a[dropout + 3];
  at::Tensor mask =
      a[dropout + 2].isNone() ? at::Tensor() : a[dropout + 2].toTensor();
  if (mask.defined() && mask.dim() == 2) // of queries and keys
    mask = mask.unsqueeze(0).unsqueeze(0);
  if (a[dropout].toDouble() != 0 || !attentionPays(q, k, v, mask))
    return std::nullopt;
  if (mask.defined() && mask.scalar_type() != at::kFloat) {
    prepareForAten();
    mask = mask.to(at::kFloat, /*non_blocking=*/false, /*copy=*/false,
                   at::MemoryFormat::Contiguous);
  }
  for (const at::Tensor &result : results)
    if (result.dim() == 4 &&
        (result.stride(3) != 1 || result.stride(2) < result.size(3)))
      return std::nullopt;
  double factor =
      scale.isNone() ? 1 / std::sqrt(double(q.size(3))) : scale.toDouble();
  return Attention{
      q, k, v, std::move(mask), a[dropout + 1].toBool(), float(factor)};
}

bool flashAttention(const Stack &a, Results r, const at::Generator &) {
  auto call = plainAttention(a, 0, 3, r);
  if (call)
    attention(*call, writable(r[0]), writable(r[1]));
  return call.has_value();
}

bool flashAttentionBackward(const Stack &a, Results r, const at::Generator &) {
  const at::Tensor &grad = a[0].toTensor(), &output = a[4].toTensor();
  auto call = plainAttention(a, 1, 6, r);
  if (!call || !attentionBackwardPays(call->query, call->key) ||
      grad.stride(3) != 1 || output.stride(3) != 1)
    return false;
  attentionBackward(*call, grad, output, a[5].toTensor(), writable(r[0]),
                    writable(r[1]), writable(r[2]));
  return true;
}

DirectCall callOf(std::string_view name) {
  Optimizations allowed = *Optimizations::without(settings().without);
  if (name == "aten::convolution")
    return convolutionCall(allowed);
  if (name == "aten::convolution_backward")
    return convolutionBackwardCall(allowed);
  static const std::unordered_map<std::string_view, DirectCall> table = {
      {"aten::mm", mm},
      {"aten::bmm", bmm},
      {"aten::addmm", addmm},
      {"aten::baddbmm", baddbmm},
      {"aten::cat", cat},
      {"aten::cumsum", cumsum},
      {"aten::index_copy", indexCopy},
      {"aten::index_put", indexPut},
      {"aten::native_dropout", nativeDropout},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", flashAttention},
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
       flashAttentionBackward},
  };
  auto found = table.find(name);
  return found != table.end() ? found->second : nullptr;
}

} // namespace

DirectCall directCall(const CallPlan &plan) {
  size_t returned = std::ranges::count(plan.wanted, true);
  if (plan.wanted.empty())
    returned = plan.op.schema().returns().size();
  return plan.results == returned ? callOf(plan.name) : nullptr;
}

} // namespace ltc::backend
