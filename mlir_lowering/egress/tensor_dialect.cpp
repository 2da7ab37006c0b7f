//===- tensor_dialect.cpp - What every dialect says alike -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/tensor_dialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

namespace ltc::compiler {

Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}
Extents shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

Operation *TensorDialect::make(StringRef op, TypeRange types,
                               ValueRange operands,
                               ArrayRef<NamedAttribute> attributes,
                               unsigned regions) {
  OperationState state(loc(), op);
  state.addTypes(types);
  state.addOperands(operands);
  state.addAttributes(attributes);
  for (unsigned i = 0; i < regions; ++i)
    state.addRegion();
  return b.create(state);
}

Tensors TensorDialect::refuse(const Twine &what, TypeRange types) {
  if (!refused)
    emitError(loc()) << what;
  refused = true;
  return resultsOf(make("ltc.refused", types, {}));
}

Value TensorDialect::refuse(const Twine &what, Type type) {
  return refuse(what, TypeRange(type))[0];
}

Value TensorDialect::splat(TypedAttr value, Extents shape) {
  Type element = value.getType();
  if (element.isIndex()) {
    element = b.getI64Type();
    value = b.getI64IntegerAttr(cast<IntegerAttr>(value).getInt());
  }
  return constant(DenseElementsAttr::get(RankedTensorType::get(shape, element),
                                         Attribute(value)));
}
Value TensorDialect::integers(int64_t value, Extents shape) {
  return splat(b.getI64IntegerAttr(value), shape);
}
Value TensorDialect::zeros(Extents shape, Type element) {
  return splat(cast<TypedAttr>(b.getZeroAttr(element)), shape);
}

Value TensorDialect::permuted(Value x, Extents order) {
  if (llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    return x;
  return transpose(x, order);
}

Value TensorDialect::flatten(Value x) {
  int64_t count = cast<RankedTensorType>(x.getType()).getNumElements();
  return reshape(x, {count});
}

Value TensorDialect::sumTo(Value x, int64_t dim) {
  Type element = elementOf(x);
  bool widens = element.getIntOrFloatBitWidth() < 32;
  Value wide = convert(x, widens ? Type(b.getF32Type()) : element);
  Reduction reduction{{wide}, {zeros({}, elementOf(wide))}, {}, {}, {}};
  for (size_t i = 0; i < shapeOf(x).size(); ++i)
    if (int64_t(i) != dim)
      reduction.dims.push_back(int64_t(i));
  StringRef op = isa<FloatType>(element) ? "arith.addf" : "arith.addi";
  reduction.ops = {op.str()};
  reduction.fold = [&](ValueRange left, ValueRange right) {
    return Tensors{arithmetic(op, {left[0], right[0]})};
  };
  return convert(reduce(reduction)[0], element);
}

Value TensorDialect::spread(Value x, Extents shape, int64_t end) {
  Extents from = shapeOf(x);
  SmallVector<int64_t> kept, dims;
  for (auto [i, size] : llvm::enumerate(from)) {
    int64_t dim = end - int64_t(from.size()) + int64_t(i);
    if (dim < 0 || (size == 1 && shape[dim] != 1))
      continue;
    kept.push_back(size);
    dims.push_back(dim);
  }
  return broadcast(reshape(x, kept), dims, shape);
}

Value TensorDialect::arithmetic(StringRef op, ValueRange operands) {
  // An op that is said and thrown away: it carries name and types.
  OperationState state(loc(), op);
  state.addOperands(operands);
  state.addTypes(operands[0].getType());
  Operation *model = Operation::create(state);
  Value result = pointwise(model, operands);
  model->destroy();
  return result;
}

/// Dimension by dimension: what is before, the part within, what is after.
Value TensorDialect::insert(Value part, Value into, Extents offsets,
                            Extents strides) {
  Extents whole = shapeOf(into), sizes = shapeOf(part);
  SmallVector<int64_t> ones(whole.size(), 1);
  if (!llvm::equal(strides, ones)) {
    // With steps: spread out, and chosen where the part has an element.
    SmallVector<int64_t> high, between;
    for (size_t d = 0; d < whole.size(); ++d) {
      int64_t reach = sizes[d] ? (sizes[d] - 1) * strides[d] + 1 : 0;
      high.push_back(whole[d] - offsets[d] - reach);
      between.push_back(strides[d] - 1);
    }
    Value spread =
        pad(part, offsets, high, between, zeros({}, elementOf(part)));
    Value holds = pad(splat(b.getBoolAttr(true), sizes), offsets, high, between,
                      zeros({}, b.getI1Type()));
    return select(holds, spread, into);
  }
  for (size_t d = 0; d < whole.size(); ++d) {
    if (sizes[d] == whole[d])
      continue;
    SmallVector<int64_t> starts(whole.size(), 0), extent(whole);
    auto between = [&](int64_t from, int64_t to) {
      starts[d] = from;
      extent[d] = to - from;
      return slice(into, starts, extent, ones);
    };
    Tensors parts;
    if (offsets[d] > 0)
      parts.push_back(between(0, offsets[d]));
    SmallVector<int64_t> inner(offsets);
    inner[d] = 0;
    parts.push_back(insert(part, between(offsets[d], offsets[d] + sizes[d]),
                           inner, strides));
    if (offsets[d] + sizes[d] < whole[d])
      parts.push_back(between(offsets[d] + sizes[d], whole[d]));
    return concat(parts, d);
  }
  return part;
}

} // namespace ltc::compiler
