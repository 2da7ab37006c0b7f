//===- aten/direct_call.cpp - The hot operators without the dispatcher ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "direct_call.h"

#include "cuda_attention.h"

#include "ltc/cpu_kernels.h"

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
#include <unordered_map>

namespace ltc::backend {
namespace {

using Results = c10::ArrayRef<at::Tensor>;

/// A handle to the same tensor that ATen's `out` parameters accept.
at::Tensor &writable(const at::Tensor &result) {
  return const_cast<at::Tensor &>(result);
}

bool mm(const Stack &a, Results r, const at::Generator &) {
  kernels::lendThreads();
  at::cpu::mm_outf(a[0].toTensor(), a[1].toTensor(), writable(r[0]));
  return true;
}

bool bmm(const Stack &a, Results r, const at::Generator &) {
  kernels::lendThreads();
  at::cpu::bmm_outf(a[0].toTensor(), a[1].toTensor(), writable(r[0]));
  return true;
}

bool addmm(const Stack &a, Results r, const at::Generator &) {
  kernels::lendThreads();
  at::cpu::addmm_outf(a[0].toTensor(), a[1].toTensor(), a[2].toTensor(),
                      a[3].toScalar(), a[4].toScalar(), writable(r[0]));
  return true;
}

bool baddbmm(const Stack &a, Results r, const at::Generator &) {
  kernels::lendThreads();
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
  kernels::lendThreads();
  const at::Tensor &self = a[0].toTensor(), &result = r[0];
  if (!isThere(self, result))
    writable(result).copy_(self);
  at::_index_put_impl_(writable(result), a[1].toOptionalTensorList(),
                       a[2].toTensor(), a[3].toBool());
  return true;
}

/// ATen's own draws from the process's generator; this one draws the same
/// numbers in the same order from the generator of the call.
bool nativeDropout(const Stack &a, Results r, const at::Generator &generator) {
  kernels::lendThreads();
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

DirectCall callOf(std::string_view name) {
  static const std::unordered_map<std::string_view, DirectCall> table = {
      {"aten::mm", mm},
      {"aten::bmm", bmm},
      {"aten::addmm", addmm},
      {"aten::baddbmm", baddbmm},
      {"aten::index_copy", indexCopy},
      {"aten::index_put", indexPut},
      {"aten::native_dropout", nativeDropout},
  };
  auto found = table.find(name);
  return found != table.end() ? found->second : nullptr;
}

} // namespace

DirectCall directCall(const CallPlan &plan) {
  if (plan.device.is_cuda())
    return cudaAttention(plan.name);
  size_t returned = std::ranges::count(plan.wanted, true);
  if (plan.wanted.empty())
    returned = plan.op.schema().returns().size();
  return plan.results == returned && plan.device.is_cpu() ? callOf(plan.name)
                                                          : nullptr;
}

} // namespace ltc::backend
