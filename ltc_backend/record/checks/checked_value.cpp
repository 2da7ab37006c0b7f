//===- checks/checked_value.cpp - Values that eager looks at first --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/checked_value.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/recorder.h"

#include <ATen/ATen.h>
#include <ATen/ops/nanquantile_native.h>
#include <ATen/ops/quantile_native.h>

namespace ltc::backend {
using at::Tensor;

static Tensor oneHot(const Tensor &self, int64_t classes) {
  TORCH_CHECK(self.scalar_type() == at::kLong,
              "one_hot is only applicable to index tensor of type LongTensor.");
  TORCH_CHECK(self.numel() != 0 || classes > 0,
              "Can not infer total number of classes from empty tensor.");
  if (self.numel() != 0 && classes <= 0) {
    TORCH_CHECK(self.min().item<int64_t>() >= 0,
                "Class values must be non-negative.");
    TORCH_CHECK(classes == -1,
                "Class values must be smaller than num_classes.");
    classes = self.max().item<int64_t>() + 1;
  }
  static const OpInfo &op = opInfo("aten::one_hot", "");
  return recordOne(op, {self, classes});
}

/// q, whose values a graph finds to be in range before it uses them.
static Tensor checkedQuantiles(const Tensor &q) {
  if (q.device().type() != c10::kLazy)
    return q; // the composite kernel will say what is wrong with it
  Tensor known = q.detach();
  Tensor inRange = known.ge(0).logical_and(known.le(1)).all();
  Tensor checked = at::_functional_assert_async(
      inRange, "quantile() q values must be in the range [0, 1]", known);
  return q.requires_grad() ? (q - known) + checked : checked;
}

template <auto stock>
static Tensor quantile(const Tensor &self, const Tensor &q,
                       std::optional<int64_t> dim, bool keepdim,
                       c10::string_view interpolation) {
  return stock(self, checkedQuantiles(q), dim, keepdim, interpolation);
}

template <auto stock>
static Tensor &quantileInto(const Tensor &self, const Tensor &q,
                            std::optional<int64_t> dim, bool keepdim,
                            c10::string_view interpolation, Tensor &out) {
  return stock(self, checkedQuantiles(q), dim, keepdim, interpolation, out);
}

void registerCheckedValues(torch::Library &library,
                           torch::Library &functionalize) {
  using Quantile = Tensor (*)(const Tensor &, const Tensor &,
                              std::optional<int64_t>, bool, c10::string_view);
  using Into =
      Tensor &(*)(const Tensor &, const Tensor &, std::optional<int64_t>, bool,
                  c10::string_view, Tensor &);
  torch::Library *autograd =
      makeLibrary("aten", c10::DispatchKey::AutogradLazy);
  library.impl("one_hot", oneHot);
  for (torch::Library *each : {&functionalize, autograd}) {
    each->impl("quantile",
               quantile<static_cast<Quantile>(at::native::quantile)>);
    each->impl("nanquantile",
               quantile<static_cast<Quantile>(at::native::nanquantile)>);
    each->impl("quantile.out",
               quantileInto<static_cast<Into>(at::native::quantile_out)>);
    each->impl("nanquantile.out",
               quantileInto<static_cast<Into>(at::native::nanquantile_out)>);
  }
}

} // namespace ltc::backend
