//===- record/small_call.cpp - Result shapes from small tensors -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/small_call.h"

#include "ltc_backend/record/checks/size_labels.h"
#include "ltc_backend/tensors/layout.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include <numeric>

namespace ltc::backend {
using c10::IValue;

/// Strides for `sizes` that have the order of those of `like`, which has as
/// many dimensions, and gaps and zeros where that has some.
static std::vector<int64_t> stridesAsOf(const at::Tensor &like,
                                        at::IntArrayRef sizes) {
  std::vector<size_t> dims(sizes.size());
  std::iota(dims.rbegin(), dims.rend(), 0); // the last is the innermost
  auto isWide = [&](size_t dim) { return like.size(dim) != 1; };
  std::ranges::stable_sort(dims, {}, [&](size_t dim) {
    return std::pair(like.stride(dim), isWide(dim));
  });
  std::vector<int64_t> strides(sizes.size());
  int64_t dense = 1, next = 1; // of `like`, and of the result
  for (size_t dim : dims) {
    if (like.stride(dim) == 0)
      continue;
    if (like.stride(dim) > dense && isWide(dim))
      ++next;
    strides[dim] = next;
    dense = like.stride(dim) * std::max<int64_t>(like.size(dim), 1);
    next *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

/// All elements `fill`.
static ProbeMaker smallProbes(const SizeLabels &labels, int fill) {
  return {c10::kCPU, [&labels, fill](const at::Tensor &like) {
            auto sizes = labels.label(like.sizes());
            auto strides = stridesAsOf(like, sizes);
            return at::empty_strided(sizes, strides, like.scalar_type())
                .fill_(fill);
          }};
}

static std::optional<at::Tensor> enlarge(const at::Tensor &small,
                                         const SizeLabels &labels) {
  if (!small.defined())
    return small;
  auto sizes = labels.sizesOf(small.sizes());
  if (!sizes || !small.is_non_overlapping_and_dense())
    return std::nullopt;
  if (isRowMajor(small.sizes(), small.strides()))
    return at::detail::empty_meta(*sizes, small.scalar_type());
  return at::detail::empty_strided_meta(*sizes, stridesAsOf(small, *sizes),
                                        small.scalar_type());
}

static bool enlargeAll(torch::jit::Stack &results, const SizeLabels &labels) {
  bool areKnown = true;
  for (IValue &value : results)
    value = mapTensors(value, [&](const at::Tensor &small) {
      std::optional<at::Tensor> large = enlarge(small, labels);
      areKnown &= large.has_value();
      return large.value_or(at::Tensor());
    });
  return areKnown;
}

std::optional<torch::jit::Stack>
inferFromSmall(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  SizeLabels labels(arguments);
  for (int fill : {0, 1}) // some are not divided by zeros
    try {
      std::vector<IValue> small =
          replaceAll(arguments, smallProbes(labels, fill));
      for (size_t i = 0; i < small.size(); ++i)
        if (info.arguments[i].name == "normalized_shape")
          small[i] = labels.label(arguments[i].toIntVector());
      torch::jit::Stack results = callOnProbes(info.handle, std::move(small));
      if (enlargeAll(results, labels))
        return results;
      return std::nullopt;
    } catch (const std::exception &) {
    }
  return std::nullopt;
}

} // namespace ltc::backend
