//===- device_index_check.cpp - Looks at indices on a device --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/aten/device_index_check.h"

#include <ATen/ATen.h>
#include <c10/core/WrapDimMinimal.h>

#include <unordered_map>

namespace ltc::backend {

using at::Tensor;
using Arguments = std::vector<c10::IValue>;

/// They count from `low`, which is below 0 where they may count from the end.
static void check(const Tensor &index, int64_t low, int64_t size,
                  std::optional<int64_t> ignored = std::nullopt) {
  if (!index.defined() || index.numel() == 0)
    return;
  Tensor bad = at::logical_or(at::lt(index, low), at::ge(index, size));
  if (ignored)
    bad = at::logical_and(bad, at::ne(index, *ignored));
  if (!bad.any().item<bool>()) // the one number that is read
    return;
  auto first = at::masked_select(index, bad)[0].item<int64_t>();
  TORCH_CHECK_INDEX(false, "index ", first,
                    " is out of bounds for dimension with size ", size);
}

static int64_t sizeOf(const Tensor &self, const c10::IValue &dim) {
  return self.dim() ? self.size(c10::maybe_wrap_dim(dim.toInt(), self.dim()))
                    : 1;
}

/// (self, dim, index, ...)
static void checkAlong(const Arguments &a) {
  check(a[2].toTensor(), 0, sizeOf(a[0].toTensor(), a[1]));
}
static void checkAlongFromBothEnds(const Arguments &a) {
  int64_t size = sizeOf(a[0].toTensor(), a[1]);
  check(a[2].toTensor(), -size, size);
}
/// (self, indices, ...): one for each dimension, masks for several.
static void checkEach(const Arguments &a) {
  const Tensor &self = a[0].toTensor();
  int64_t dim = 0;
  for (const std::optional<Tensor> index : a[1].toOptionalTensorList()) {
    bool isMask = index && index->defined() &&
                  (index->scalar_type() == at::kBool ||
                   index->scalar_type() == at::kByte);
    if (isMask || !index || !index->defined()) {
      dim += isMask ? index->dim() : 1;
    } else if (dim < self.dim()) { // too many are an error of ATen's
      check(*index, -self.size(dim), self.size(dim));
      ++dim;
    }
  }
}
/// (weight, indices, ...)
static void checkRows(const Arguments &a) {
  check(a[1].toTensor(), 0, a[0].toTensor().size(0));
}
/// (grad, indices, num_weights, ...)
static void checkRowsOfGradient(const Arguments &a) {
  check(a[1].toTensor(), 0, a[2].toInt());
}
/// (self, index, ...) of all elements
static void checkElements(const Arguments &a) {
  int64_t size = a[0].toTensor().numel();
  check(a[1].toTensor(), -size, size);
}
static int64_t classesOf(const Tensor &self) {
  return self.dim() == 1 ? self.size(0) : self.size(1);
}
/// (self, target, weight, reduction, ignore_index)
static void checkClasses(const Arguments &a) {
  check(a[1].toTensor(), 0, classesOf(a[0].toTensor()), a[4].toInt());
}
/// (grad_output, self, target, weight, reduction, ignore_index, ...)
static void checkClassesOfGradient(const Arguments &a) {
  check(a[2].toTensor(), 0, classesOf(a[1].toTensor()), a[5].toInt());
}
/// (self, target, p, ...)
static void checkMargins(const Arguments &a) {
  const Tensor &self = a[0].toTensor();
  check(a[1].toTensor(), 0, self.dim() ? self.size(-1) : 1);
}

using Check = void (*)(const Arguments &);

/// By name without overload.
static Check checkOf(std::string_view op) {
  static const std::unordered_map<std::string_view, Check> table = {
      {"aten::_embedding_bag", checkRows},
      {"aten::_embedding_bag_forward_only", checkRows},
      {"aten::embedding", checkRows},
      {"aten::embedding_dense_backward", checkRowsOfGradient},
      {"aten::embedding_renorm", checkRows},
      {"aten::gather", checkAlong},
      {"aten::index", checkEach},
      {"aten::index_add", checkAlong},
      {"aten::index_copy", checkAlong},
      {"aten::index_fill", checkAlongFromBothEnds},
      {"aten::index_put", checkEach},
      {"aten::index_reduce", checkAlong},
      {"aten::index_select", checkAlong},
      {"aten::multi_margin_loss", checkMargins},
      {"aten::nll_loss2d_backward", checkClassesOfGradient},
      {"aten::nll_loss2d_forward", checkClasses},
      {"aten::nll_loss_backward", checkClassesOfGradient},
      {"aten::nll_loss_forward", checkClasses},
      {"aten::put", checkElements},
      {"aten::scatter", checkAlong},
      {"aten::scatter_add", checkAlong},
      {"aten::scatter_reduce", checkAlong},
      {"aten::take", checkElements},
  };
  auto found = table.find(op.substr(0, op.find('.')));
  return found != table.end() ? found->second : nullptr;
}

bool looksAtIndices(std::string_view op) { return checkOf(op) != nullptr; }

void checkIndicesOnDevice(std::string_view op, const Arguments &arguments) {
  if (Check check = checkOf(op))
    check(arguments);
}

} // namespace ltc::backend
