//===- convolution.cpp - Convolutions and their gradients -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is one convolution: a transposed one reads an image that is spread out,
// the gradient of the weight is the image's, with batch and channels swapped,
// by the gradient as its kernel.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/whole_ops.h"

namespace ltc::compiler {
namespace {

using mlir::Value;
using Ints = llvm::SmallVector<int64_t>;

struct Window {
  Window(const OpCall &op, size_t rank)
      : stride(listOf(op, "stride", rank)),
        padding(listOf(op, "padding", rank)),
        dilation(listOf(op, "dilation", rank)),
        outputPadding(listOf(op, "output_padding", rank)),
        groups(op.integer("groups", 1)), transposed(op.flag("transposed")),
        ones(rank, 1) {}

  static Ints listOf(const OpCall &op, llvm::StringRef name, size_t rank) {
    Ints values = op.integers(name);
    return values.size() == 1 ? Ints(rank, values[0]) : values;
  }

  Ints stride, padding, dilation, outputPadding;
  int64_t groups;
  bool transposed;
  Ints ones;
};

Extents placesOf(Value x) { return shapeOf(x).drop_front(2); }

/// [g i, o, ...] as [g o, i, ...], turned around.
Value turned(TensorDialect &d, Value weight, int64_t groups) {
  Ints shape(shapeOf(weight)), split = shape, order, places;
  split[0] /= groups;
  split.insert(split.begin(), groups);
  for (size_t i = 0; i < split.size(); ++i)
    order.push_back(int64_t(i));
  std::swap(order[1], order[2]);
  for (size_t i = 2; i < shape.size(); ++i)
    places.push_back(int64_t(i));
  Ints joined = shape;
  joined[0] = groups * shape[1];
  joined[1] = shape[0] / groups;
  Value swapped = d.transpose(d.reshape(weight, split), order);
  return d.reverse(d.reshape(swapped, joined), places);
}

/// An image by a weight [o, c / groups, ...].
Value forward(TensorDialect &d, Value image, Value weight, const Window &w) {
  return d.convolve({image, weight, w.stride, w.padding, w.padding, w.ones,
                     w.dilation, w.groups, 1});
}

/// An image spread out, by a weight [c, o / groups, ...], to a given size.
Value spread(TensorDialect &d, Value image, Value weight, const Window &w,
             Extents places) {
  Ints low, high;
  for (size_t i = 0; i < w.ones.size(); ++i) {
    int64_t reach = w.dilation[i] * (placesOf(weight)[i] - 1);
    low.push_back(reach - w.padding[i]);
    high.push_back(places[i] - (placesOf(image)[i] - 1) * w.stride[i] - 1 -
                   low[i] + reach);
  }
  return d.convolve({image, turned(d, weight, w.groups), w.ones, low, high,
                     w.stride, w.dilation, w.groups, 1});
}

Value swapped(TensorDialect &d, Value x) {
  Ints order;
  for (size_t i = 0; i < shapeOf(x).size(); ++i)
    order.push_back(int64_t(i));
  std::swap(order[0], order[1]);
  return d.transpose(x, order);
}

/// The gradient [o, c / groups, ...] of a weight that made an image [n, c, ...]
/// one whose gradient is `error` [n, o, ...].
Value weightGradient(TensorDialect &d, Value image, Value error,
                     const Window &w, Extents kernel) {
  Ints high;
  for (size_t i = 0; i < w.ones.size(); ++i)
    high.push_back((kernel[i] - 1) * w.dilation[i] +
                   (placesOf(error)[i] - 1) * w.stride[i] + 1 -
                   placesOf(image)[i] - w.padding[i]);
  Value gradient = d.convolve({swapped(d, image), swapped(d, error), w.dilation,
                               w.padding, high, w.ones, w.stride, 1, w.groups});
  return swapped(d, gradient);
}

Tensors convolution(TensorDialect &d, const WholeCall &call) {
  Value image = call["input"], weight = call["weight"], bias = call["bias"];
  Window w(call.op, placesOf(image).size());
  Ints result = call.op.result().sizes;
  Value y = w.transposed
                ? spread(d, image, weight, w, Extents(result).drop_front(2))
                : forward(d, image, weight, w);
  if (bias)
    y = d.arithmetic("arith.addf", {y, d.broadcast(bias, {1}, result)});
  return {y};
}

Tensors convolutionBackward(TensorDialect &d, const WholeCall &call) {
  Value error = call["grad_output"], image = call["input"];
  Value weight = call["weight"];
  Window w(call.op, placesOf(image).size());
  auto wanted = call.op.flags("output_mask");
  Tensors results;
  if (wanted[0])
    results.push_back(w.transposed
                          ? forward(d, error, weight, w)
                          : spread(d, error, weight, w, placesOf(image)));
  if (wanted[1])
    results.push_back(
        w.transposed ? weightGradient(d, error, image, w, placesOf(weight))
                     : weightGradient(d, image, error, w, placesOf(weight)));
  if (wanted[2])
    results.push_back(d.sumTo(error, 1));
  return results;
}

constexpr WholeOp kOps[] = {
    {"aten::convolution", convolution},
    {"aten::convolution_backward", convolutionBackward},
};

} // namespace

llvm::ArrayRef<WholeOp> convolutionOps() { return kOps; }

} // namespace ltc::compiler
