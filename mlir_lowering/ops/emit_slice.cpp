//===- emit_slice.cpp - Slices, concatenation, creation ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

static bool isEmpty(Dims sizes) { return llvm::is_contained(sizes, 0); }

struct SliceBounds {
  Shape offsets, sizes, strides;
};

/// Where x[start:stop:step] along dim lies.
static SliceBounds sliceBounds(Emit &e, Value x, int64_t dim, int64_t start,
                               int64_t stop, int64_t step) {
  SliceBounds at{Shape(x.rank(), 0), e.shape(x), Shape(x.rank(), 1)};
  int64_t size = x.size(dim);
  at.strides[dim] = step;
  if (!isSymbolic(size) && !isSymbolic(start) && !isSymbolic(stop)) {
    at.sizes[dim] = clampSlice(size, start, stop, step);
    at.offsets[dim] = start;
    return at;
  }
  // The length shows in the type of the result, which is known to be right:
  // if it is stop - start, neither was clamped.
  auto counted = [&](int64_t bound) {
    return bound < 0 && !isSymbolic(bound) ? e.sum({bound, size}) : bound;
  };
  start = counted(start);
  stop = stop == INT64_MAX ? size : counted(stop);
  if (step != 1)
    e.refuse("a slice with a step");
  at.offsets[dim] = start;
  at.sizes[dim] = e.sum({stop, e.minus(start)});
  return at;
}

Value Emit::slice(Value x, int64_t dim, int64_t start, int64_t stop,
                  int64_t step) {
  SliceBounds at = sliceBounds(*this, x, dim, start, stop, step);
  if (at.sizes == shape(x))
    return x;
  if (isEmpty(at.sizes)) // MLIR allows no slice at the very end
    return empty(at.sizes, x.dtype());
  return {tensor::ExtractSliceOp::create(b, x.ir(), values(at.offsets),
                                         values(at.sizes), values(at.strides)),
          x.dtype()};
}

Value Emit::insertSlice(Value x, Value part, int64_t dim, int64_t start,
                        int64_t stop, int64_t step) {
  SliceBounds at = sliceBounds(*this, x, dim, start, stop, step);
  part = cast(part, x.dtype());
  if (part.sizes() != at.sizes) {
    refuse("a slice whose length no formula shows");
    return x;
  }
  if (at.sizes == shape(x))
    return part;
  if (isEmpty(at.sizes))
    return x;
  return {tensor::InsertSliceOp::create(b, part.ir(), x.ir(),
                                        values(at.offsets), values(at.sizes),
                                        values(at.strides)),
          x.dtype()};
}

Value Emit::concat(ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts[0];
  Shape total = shape(parts[0]);
  SmallVector<int64_t> starts;
  int64_t end = 0;
  for (Value part : parts) {
    starts.push_back(end);
    end = sum({end, part.size(dim)});
  }
  total[dim] = end;
  Value joined = empty(total, parts[0].dtype());
  Shape offsets(total.size(), 0), strides(total.size(), 1);
  for (auto [start, part] : llvm::zip_equal(starts, parts)) {
    Shape sizes = shape(part);
    if (isEmpty(sizes))
      continue;
    offsets[dim] = start;
    joined = {tensor::InsertSliceOp::create(b, part.ir(), joined.ir(),
                                            values(offsets), values(sizes),
                                            values(strides)),
              joined.dtype()};
  }
  return joined;
}

Value Emit::pad(Value x, Dims low, Dims high, Value value) {
  auto crops = [](int64_t n) { return n < 0 && !isSymbolic(n); };
  auto added = [&](int64_t n) { return crops(n) ? 0 : n; };
  Value inner = x;
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    if (crops(low[dim]) || crops(high[dim]))
      inner = slice(inner, dim, crops(low[dim]) ? -low[dim] : 0,
                    crops(high[dim]) ? high[dim] : INT64_MAX);
  Shape offsets, total = shape(inner);
  for (auto [dim, size] : llvm::enumerate(total)) {
    offsets.push_back(added(low[dim]));
    size = sum({size, offsets.back(), added(high[dim])});
  }
  Value around = full(total, x.dtype(), value);
  if (isEmpty(shape(inner)))
    return around;
  Shape strides(total.size(), 1);
  return {tensor::InsertSliceOp::create(b, inner.ir(), around.ir(),
                                        values(offsets), values(shape(inner)),
                                        values(strides)),
          x.dtype()};
}

Value Emit::empty(const Shape &shape, DType dtype) {
  return {tensor::EmptyOp::create(b, values(shape),
                                  memoryType(b.getContext(), dtype)),
          dtype};
}

Value Emit::full(const Shape &shape, DType dtype, Value value) {
  Value init = empty(shape, dtype);
  Scalar s(b, site);
  mlir::Value element = s.toMemory(value, dtype);
  return {linalg::FillOp::create(b, element, init.ir()).getResult(0), dtype};
}

} // namespace ltc::compiler
