//===- tosa_convolution.cpp - Convolutions in TOSA --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tosa.conv2d knows neither groups nor an image that is spread out, has
// channels last, and wants its windows to end where the image does.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/tosa.h"

using namespace mlir;

namespace ltc::compiler {

using Ints = SmallVector<int64_t>;

/// Part i of n along a dimension.
static Value partOf(TensorDialect &d, Value x, int64_t dim, int64_t i,
                    int64_t n) {
  Ints starts(shapeOf(x).size(), 0), sizes(shapeOf(x)), ones(sizes.size(), 1);
  sizes[dim] /= n;
  starts[dim] = i * sizes[dim];
  return d.slice(x, starts, sizes, ones);
}

Value Tosa::convolve(const Convolution &convolution) {
  Convolution c = convolution;
  if (c.groups > 1 || c.batchGroups > 1) {
    int64_t groups = c.groups * c.batchGroups; // one of them is 1
    Tensors parts;
    for (int64_t i = 0; i < groups; ++i) {
      Convolution part = c;
      part.lhs = partOf(*this, c.lhs, c.groups > 1 ? 1 : 0, i, groups);
      part.rhs = partOf(*this, c.rhs, 0, i, groups);
      part.groups = part.batchGroups = 1;
      parts.push_back(convolve(part));
    }
    return concat(parts, 1);
  }
  size_t rank = c.strides.size();
  if (rank > 2)
    return refuse("TOSA is told convolutions of one and two dimensions",
                  c.lhs.getType());
  if (rank == 2)
    return convolvePlainly(c);
  Ints lhs(shapeOf(c.lhs)), rhs(shapeOf(c.rhs)); // a row
  lhs.insert(lhs.begin() + 2, 1), rhs.insert(rhs.begin() + 2, 1);
  c.lhs = reshape(c.lhs, lhs), c.rhs = reshape(c.rhs, rhs);
  for (auto *ones : {&c.strides, &c.lhsDilation, &c.rhsDilation})
    ones->insert(ones->begin(), 1);
  for (auto *zeros : {&c.low, &c.high})
    zeros->insert(zeros->begin(), 0);
  Value y = convolvePlainly(c);
  Ints result(shapeOf(y));
  result.erase(result.begin() + 2);
  return reshape(y, result);
}

Value Tosa::convolvePlainly(const Convolution &c) {
  Type element = elementOf(c.lhs);
  Value zero = zeros({}, element), image = c.lhs;
  Ints none(4, 0), interior(none), low(none), high(none), outer;
  Ints result = {shapeOf(c.lhs)[0], 0, 0, shapeOf(c.rhs)[0]};
  for (int64_t d = 0; d < 2; ++d)
    interior[d + 2] = c.lhsDilation[d] - 1;
  image = pad(image, none, none, interior, zero);
  for (int64_t d = 0; d < 2; ++d) {
    int64_t size = shapeOf(image)[d + 2];
    int64_t window = (shapeOf(c.rhs)[d + 2] - 1) * c.rhsDilation[d] + 1;
    int64_t out = (size + c.low[d] + c.high[d] - window) / c.strides[d] + 1;
    int64_t after = (out - 1) * c.strides[d] + window - size - c.low[d];
    low[d + 2] = std::min<int64_t>(0, c.low[d]);
    high[d + 2] = std::min<int64_t>(0, after);
    outer.append({c.low[d] - low[d + 2], after - high[d + 2]});
    result[d + 1] = out;
  }
  image = transpose(plainPad(image, low, high, zero), {0, 2, 3, 1});
  Value kernel = transpose(c.rhs, {0, 2, 3, 1});
  Value bias = zeros({result[3]}, element), point = zeros({1}, element);
  Type sum = element.isF64() ? element : b.getF32Type();
  Value y = one("tosa.conv2d", RankedTensorType::get(result, element),
                {image, kernel, bias, point, point},
                {extents("pad", outer), extents("stride", c.strides),
                 extents("dilation", c.rhsDilation),
                 attribute("acc_type", TypeAttr::get(sum))});
  return transpose(y, {0, 3, 1, 2});
}

} // namespace ltc::compiler
