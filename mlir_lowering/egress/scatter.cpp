//===- scatter.cpp - Writes at computed positions ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All are rows put or added to a tensor: those of one dimension, or single
// elements of a tensor that is laid out flat.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/whole_ops.h"

namespace ltc::compiler {
namespace {

using mlir::Value;
using Ints = llvm::SmallVector<int64_t>;

Value add(TensorDialect &d, Value x, Value y) {
  return d.arithmetic("arith.addi", {x, y});
}

/// Where elements of a tensor lie: the sum over dimensions of a position, as
/// `at` gives it for `shape`, times how many elements it steps over.
template <typename F>
Value flatPositions(TensorDialect &d, Extents of, Extents shape, F at) {
  Value sum;
  int64_t step = 1;
  for (int64_t dim = int64_t(of.size()) - 1; dim >= 0; --dim) {
    Value position = at(dim);
    if (step != 1)
      position =
          d.arithmetic("arith.muli", {position, d.integers(step, shape)});
    sum = sum ? add(d, sum, position) : position;
    step *= of[dim];
  }
  return d.flatten(sum ? sum : d.integers(0, shape));
}

/// Sums of 16-bit floats are taken in single precision.
Value scatterFlat(TensorDialect &d, Value into, Value positions, Value values,
                  bool adds) {
  mlir::Type element = elementOf(into);
  bool widens = adds && mlir::isa<mlir::FloatType>(element) &&
                element.getIntOrFloatBitWidth() < 32;
  mlir::Type wide = widens ? d.builder().getF32Type() : element;
  Value flat = d.scatterRows(d.convert(d.flatten(into), wide), positions,
                             d.convert(d.flatten(values), wide), adds);
  return d.reshape(d.convert(flat, element), shapeOf(into));
}

Tensors embeddingBackward(TensorDialect &d, const WholeCall &call) {
  Value error = call["grad_output"], indices = call["indices"];
  Ints result = call.op.result().sizes;
  mlir::Type element = elementOf(error);
  if (call.op.flag("scale_grad_by_freq"))
    return {d.refuse("with scale_grad_by_freq", call.op.result().type)};
  Value positions = d.convert(d.flatten(indices), d.builder().getI64Type());
  if (int64_t padding = call.op.integer("padding_idx", -1); padding >= 0) {
    Extents shape = shapeOf(positions); // beyond the end: no one's gradient
    positions = d.select(d.equal(positions, d.integers(padding, shape)),
                         d.integers(result[0], shape), positions);
  }
  bool widens = element.getIntOrFloatBitWidth() < 32;
  mlir::Type wide = widens ? d.builder().getF32Type() : element;
  Value rows =
      d.reshape(d.convert(error, wide), {shapeOf(positions)[0], result[1]});
  Value sums = d.scatterRows(d.zeros(result, wide), positions, rows, true);
  return {d.convert(sums, element)};
}

/// An index counts the elements of a plane, the two last dimensions.
Tensors maxPoolBackward(TensorDialect &d, const WholeCall &call) {
  Value error = call["grad_output"], indices = call["indices"];
  Ints result = call.op.result().sizes;
  int64_t plane = result.back() * result[result.size() - 2];
  int64_t planes = 1;
  for (int64_t size : Extents(result).drop_back(2))
    planes *= size;
  Extents out = shapeOf(error);
  int64_t outputs = out.back() * out[out.size() - 2];
  Ints shape = {planes, outputs};
  Value start =
      d.arithmetic("arith.muli", {d.iota(shape, 0, d.builder().getI64Type()),
                                  d.integers(plane, shape)});
  Value positions = d.flatten(add(d, d.reshape(indices, shape), start));
  return {scatterFlat(d, d.zeros(result, elementOf(error)), positions, error,
                      true)};
}

/// Counts along a dimension of `shape`.
Value counting(TensorDialect &d, Extents shape, int64_t dim) {
  return d.iota(shape, dim, d.builder().getI64Type());
}

/// scatter: the index stands for the position in one dimension.
Tensors scatter(TensorDialect &d, const WholeCall &call) {
  Value self = call["self"], index = call["index"], src = call["src"];
  bool adds = call.op.op == "aten::scatter_add";
  Extents of = shapeOf(self), shape = shapeOf(index);
  int64_t dim = call.op.dim("dim");
  Value positions = flatPositions(d, of, shape, [&](int64_t i) {
    return i == dim ? index : counting(d, shape, i);
  });
  if (src) {
    Ints zeros(shape.size(), 0), ones(shape.size(), 1);
    src = d.slice(src, zeros, shape, ones);
  } else {
    mlir::Type element = elementOf(self);
    Value value = call["value"];
    value = value ? d.convert(value, element)
                  : number(d, call.op["value"], element);
    src = d.broadcast(value, {}, shape);
  }
  return {scatterFlat(d, self, positions, src, adds)};
}

/// x[:, i, j] = values; the rule for the shape is NumPy's, as in ops/index.cpp.
Tensors indexPut(TensorDialect &d, const WholeCall &call) {
  Value self = call["self"], values = call["values"];
  const Values &indices = call.op.list("indices");
  Extents of = shapeOf(self);
  int64_t first = -1, last = -1, count = 0;
  Ints common;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (!index)
      continue;
    if (index.dtype() == DType::Bool || index.dtype() == DType::U8)
      return {d.refuse("with an index of booleans", call.op.result().type)};
    first = first < 0 ? int64_t(dim) : first;
    last = int64_t(dim), ++count;
    Extents sizes = shapeOf(call.of(index));
    if (sizes.size() > common.size())
      common.insert(common.begin(), sizes.size() - common.size(), 1);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (int64_t size = sizes[sizes.size() - 1 - i]; size != 1)
        common[common.size() - 1 - i] = size;
  }
  int64_t begin = last - first + 1 == count ? first : 0;
  Ints shape, placeOf; // of what is written; for each dimension that stays
  for (int64_t dim = 0; dim < int64_t(of.size()); ++dim) {
    if (dim == begin)
      llvm::append_range(shape, common);
    bool stays = dim >= int64_t(indices.size()) || !indices[dim];
    placeOf.push_back(stays ? int64_t(shape.size()) : -1);
    if (stays)
      shape.push_back(of[dim]);
  }
  // Those that stay in front of `begin` came before the indexed ones.
  auto positions = flatPositions(d, of, shape, [&](int64_t dim) {
    if (placeOf[dim] >= 0)
      return counting(d, shape, placeOf[dim]);
    Value index = d.convert(call.of(indices[dim]), d.builder().getI64Type());
    index = d.spread(index, shape, begin + int64_t(common.size()));
    Value negative = d.less(index, d.integers(0, shape));
    return d.select(negative, add(d, index, d.integers(of[dim], shape)), index);
  });
  Value written = d.spread(values, shape, int64_t(shape.size()));
  return {scatterFlat(d, self, positions, written, call.op.flag("accumulate"))};
}

/// index_add, index_copy and index_fill: whole slices along a dimension.
Tensors indexSlices(TensorDialect &d, const WholeCall &call) {
  Value self = call["self"], index = call["index"], source = call["source"];
  bool adds = llvm::StringRef(call.op.op).starts_with("aten::index_add");
  bool isScalar = shapeOf(self).empty();
  if (isScalar)
    self = d.reshape(self, {1});
  int64_t dim = isScalar ? 0 : call.op.dim("dim"), rank = shapeOf(self).size();
  Ints order = {dim}, back;
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      order.push_back(i);
  for (int64_t i = 0; i < rank; ++i)
    back.push_back(llvm::find(order, i) - order.begin());
  Value into = d.permuted(self, order);
  Ints shape(shapeOf(into));
  mlir::Type element = elementOf(self);
  Value positions = d.convert(d.flatten(index), d.builder().getI64Type());
  shape[0] = shapeOf(positions)[0];
  if (source) {
    if (!isScalar)
      source = d.permuted(source, order);
    source = d.reshape(source, shape);
    mlir::Value alpha = call["alpha"];
    bool isOne = !alpha && call.op["alpha"] && call.op["alpha"].asReal() == 1;
    if (adds && !isOne && call.op["alpha"]) {
      alpha = alpha ? d.convert(alpha, element)
                    : number(d, call.op["alpha"], element);
      bool isFloat = mlir::isa<mlir::FloatType>(element);
      source = d.arithmetic(isFloat ? "arith.mulf" : "arith.muli",
                            {source, d.broadcast(alpha, {}, shape)});
    }
  } else {
    Value value = call["value"];
    value = value ? d.convert(d.reshape(value, {}), element)
                  : number(d, call.op["value"], element);
    source = d.broadcast(value, {}, shape);
  }
  Value result = d.permuted(d.scatterRows(into, positions, source, adds), back);
  return {isScalar ? d.reshape(result, {}) : result};
}

constexpr WholeOp kOps[] = {
    {"aten::embedding_dense_backward", embeddingBackward},
    {"aten::max_pool2d_with_indices_backward", maxPoolBackward},
    {"aten::scatter.src", scatter, true},
    {"aten::scatter.value", scatter, true},
    {"aten::scatter_add", scatter, true},
    {"aten::index_put", indexPut, true},
    {"aten::_unsafe_index_put", indexPut},
    {"aten::index_add", indexSlices, true},
    {"aten::index_copy", indexSlices, true},
    {"aten::index_fill.int_Scalar", indexSlices, true},
    {"aten::index_fill.int_Tensor", indexSlices, true},
};

} // namespace

llvm::ArrayRef<WholeOp> scatterOps() { return kOps; }

} // namespace ltc::compiler
