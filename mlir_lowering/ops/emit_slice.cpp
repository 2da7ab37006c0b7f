//===- emit_slice.cpp - Slices, concatenation, creation ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir_lowering/dialect/element_type.h"

namespace ltc::compiler {

using namespace mlir;

/// start, stop and step as Python clamps them, for a known size.
static int64_t clampSlice(int64_t size, int64_t &start, int64_t stop,
                          int64_t step) {
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  start = clamp(start);
  return std::max<int64_t>(0, (clamp(stop) - start + step - 1) / step);
}

static bool isEmpty(const Shape &shape) {
  return llvm::any_of(
      shape, [](OpFoldResult size) { return getConstantIntValue(size) == 0; });
}

struct SliceBounds {
  Shape offsets, sizes, strides;
};

/// Where x[start:stop:step] along dim lies.
static SliceBounds sliceBounds(Emit &e, Value x, int64_t dim, int64_t start,
                               int64_t stop, int64_t step) {
  ImplicitLocOpBuilder &b = e.builder();
  SliceBounds at{Shape(x.rank(), b.getIndexAttr(0)), e.shape(x),
                 Shape(x.rank(), b.getIndexAttr(1))};
  at.strides[dim] = b.getIndexAttr(step);
  if (!ShapedType::isDynamic(x.size(dim))) {
    int64_t length = clampSlice(x.size(dim), start, stop, step);
    at.offsets[dim] = b.getIndexAttr(start);
    at.sizes[dim] = b.getIndexAttr(length);
    return at;
  }
  mlir::Value size = tensor::DimOp::create(b, x.ir(), dim);
  mlir::Value zero = arith::ConstantIndexOp::create(b, 0);
  auto clamp = [&](int64_t bound) -> mlir::Value {
    mlir::Value at = arith::ConstantIndexOp::create(b, bound);
    if (bound < 0)
      at = arith::AddIOp::create(b, at, size);
    return arith::MinSIOp::create(
        b, arith::MaxSIOp::create(b, at, zero).getResult(), size);
  };
  mlir::Value first = clamp(start), last = clamp(stop);
  mlir::Value length = arith::MaxSIOp::create(
      b, arith::SubIOp::create(b, last, first).getResult(), zero);
  if (step != 1)
    length = arith::CeilDivUIOp::create(
        b, length, arith::ConstantIndexOp::create(b, step).getResult());
  at.offsets[dim] = getAsOpFoldResult(first);
  at.sizes[dim] = getAsOpFoldResult(length);
  return at;
}

Value Emit::slice(Value x, int64_t dim, int64_t start, int64_t stop,
                  int64_t step) {
  SliceBounds at = sliceBounds(*this, x, dim, start, stop, step);
  if (at.sizes == shape(x))
    return x;
  if (isEmpty(at.sizes)) // MLIR allows no slice at the very end
    return empty(at.sizes, x.dtype());
  return {tensor::ExtractSliceOp::create(b, x.ir(), at.offsets, at.sizes,
                                         at.strides),
          x.dtype()};
}

Value Emit::insertSlice(Value x, Value part, int64_t dim, int64_t start,
                        int64_t stop, int64_t step) {
  SliceBounds at = sliceBounds(*this, x, dim, start, stop, step);
  part = cast(part, x.dtype());
  if (at.sizes == shape(x))
    return part;
  if (isEmpty(at.sizes))
    return x;
  return {tensor::InsertSliceOp::create(b, part.ir(), x.ir(), at.offsets,
                                        at.sizes, at.strides),
          x.dtype()};
}

Value Emit::concat(ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts[0];
  Shape total = shape(parts[0]);
  SmallVector<OpFoldResult> ends;
  OpFoldResult end = b.getIndexAttr(0);
  for (Value part : parts) {
    OpFoldResult size = shape(part)[dim];
    auto known = getConstantIntValue(end), more = getConstantIntValue(size);
    if (known && more)
      end = b.getIndexAttr(*known + *more);
    else
      end = arith::AddIOp::create(
                b, getValueOrCreateConstantIndexOp(b, b.getLoc(), end),
                getValueOrCreateConstantIndexOp(b, b.getLoc(), size))
                .getResult();
    ends.push_back(end);
  }
  total[dim] = end;
  Value joined = empty(total, parts[0].dtype());
  Shape offsets(total.size(), b.getIndexAttr(0));
  Shape strides(total.size(), b.getIndexAttr(1));
  for (auto [index, part] : llvm::enumerate(parts)) {
    if (isEmpty(shape(part)))
      continue;
    offsets[dim] = index ? ends[index - 1] : OpFoldResult(b.getIndexAttr(0));
    joined = {tensor::InsertSliceOp::create(b, part.ir(), joined.ir(), offsets,
                                            shape(part), strides),
              joined.dtype()};
  }
  return joined;
}

Value Emit::pad(Value x, Dims low, Dims high, Value value) {
  Value inner = x;
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    if (low[dim] < 0 || high[dim] < 0)
      inner = slice(inner, dim, std::max<int64_t>(0, -low[dim]),
                    high[dim] < 0 ? high[dim] : INT64_MAX);
  Shape offsets, total = shape(inner);
  Shape strides(total.size(), b.getIndexAttr(1));
  for (auto [dim, size] : llvm::enumerate(total)) {
    int64_t before = std::max<int64_t>(0, low[dim]);
    int64_t more = before + std::max<int64_t>(0, high[dim]);
    offsets.push_back(b.getIndexAttr(before));
    if (auto known = getConstantIntValue(size))
      size = b.getIndexAttr(*known + more);
    else if (more)
      size = arith::AddIOp::create(
                 b, llvm::cast<mlir::Value>(size),
                 arith::ConstantIndexOp::create(b, more).getResult())
                 .getResult();
  }
  Value around = full(total, x.dtype(), value);
  if (isEmpty(shape(inner)))
    return around;
  return {tensor::InsertSliceOp::create(b, inner.ir(), around.ir(), offsets,
                                        shape(inner), strides),
          x.dtype()};
}

Value Emit::empty(const Shape &shape, DType dtype) {
  return {tensor::EmptyOp::create(b, shape, memoryType(b.getContext(), dtype)),
          dtype};
}

Value Emit::full(const Shape &shape, DType dtype, Value value) {
  Value init = empty(shape, dtype);
  Scalar s(b, site);
  mlir::Value element = s.toMemory(value, dtype);
  return {linalg::FillOp::create(b, element, init.ir()).getResult(0), dtype};
}

} // namespace ltc::compiler
