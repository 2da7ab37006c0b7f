//===- tensors/view_geometry.h - What a view shows of memory ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function makes of the sizes and strides of a tensor those of its view,
// in elements, as eager has them. False: the arguments are not right, or out of
// the ordinary, and PyTorch's kernel has the words or the answer; the geometry
// is as good as lost then.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/DimVector.h>

#include <optional>

namespace ltc::backend {

/// So few numbers are compared before memcmp() would begin.
inline bool isSame(at::IntArrayRef some, at::IntArrayRef others) {
  if (some.size() != others.size())
    return false;
  for (size_t i = 0; i < some.size(); ++i)
    if (some[i] != others[i])
      return false;
  return true;
}

/// Where a tensor keeps it: good while the tensor lives and stays as it is.
struct Shown {
  at::IntArrayRef sizes, strides;
  int64_t offset;
};

struct Geometry {
  explicit Geometry(const at::Tensor &tensor)
      : Geometry(
            Shown{tensor.sizes(), tensor.strides(), tensor.storage_offset()}) {}
  explicit Geometry(const Shown &shown)
      : sizes(shown.sizes), strides(shown.strides), offset(shown.offset) {}
  c10::DimVector sizes, strides;
  int64_t offset;

  bool operator==(const Geometry &) const = default;
  bool operator==(const Shown &other) const {
    return isSame(other.sizes, sizes) && isSame(other.strides, strides) &&
           other.offset == offset;
  }

  bool slice(int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step);
  bool select(int64_t dim, int64_t index);
  bool view(at::IntArrayRef wanted);
  bool t();
  bool transpose(int64_t first, int64_t second);
  bool permute(at::IntArrayRef dims);
  bool unsqueeze(int64_t dim);
  bool squeeze();
  bool squeeze(int64_t dim);
  bool squeeze(at::IntArrayRef dims);
  bool expand(at::IntArrayRef wanted);
  bool unfold(int64_t dim, int64_t size, int64_t step);
  bool diagonal(int64_t offset, int64_t first, int64_t second);

private:
  int64_t rank() const { return int64_t(sizes.size()); }
  /// False for what is no dimension of the tensor.
  bool wrap(int64_t &dim) const;
  void erase(int64_t dim);
  bool isContiguous() const;
};

} // namespace ltc::backend
