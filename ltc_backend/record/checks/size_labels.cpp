//===- checks/size_labels.cpp - Small sizes that compare alike ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/size_labels.h"

#include "ltc_backend/record/call_key.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using c10::IValue;

SizeLabels::SizeLabels(c10::ArrayRef<IValue> arguments) : known{0, 1, 2, 3} {
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      if (tensor.defined())
        known.insert(tensor.sizes().begin(), tensor.sizes().end());
    });
}

std::vector<int64_t> SizeLabels::label(at::IntArrayRef sizes) const {
  std::vector<int64_t> labels;
  for (int64_t size : sizes)
    labels.push_back(std::distance(known.begin(), known.find(size)));
  return labels;
}

std::optional<std::vector<int64_t>>
SizeLabels::sizesOf(at::IntArrayRef labels) const {
  std::vector<int64_t> sizes;
  for (int64_t label : labels) {
    if (label >= std::ssize(known))
      return std::nullopt;
    sizes.push_back(*std::next(known.begin(), label));
  }
  return sizes;
}

ProbeMaker SizeLabels::probes() const {
  return {
      c10::kCPU, [this](const at::Tensor &like) {
        return at::zeros({}, like.scalar_type()).expand(label(like.sizes()));
      }};
}

Hash128 SizeLabels::hashOf(c10::ArrayRef<IValue> arguments) const {
  Hasher hasher;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      addTag(hasher, KeyTag::Tensor);
      if (tensor.defined())
        for (int64_t size : label(tensor.sizes()))
          hasher.add(uint64_t(size));
    });
  return hasher.finish();
}

} // namespace ltc::backend
