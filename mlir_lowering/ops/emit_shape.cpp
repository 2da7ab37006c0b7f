//===- emit_shape.cpp - Shapes, permutes, reshapes --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace ltc::compiler {

using namespace mlir;

static constexpr int64_t kUnknown = ShapedType::kDynamic;

Shape Emit::shape(Value x) {
  return tensor::getMixedSizes(b, b.getLoc(), x.ir());
}
Shape Emit::shape(ResultType type) { return shape(type.type.getShape()); }
Shape Emit::shape(Dims sizes) {
  assert(!llvm::is_contained(sizes, kUnknown) && "sizes must be static");
  return getAsIndexOpFoldResult(b.getContext(), sizes);
}

Shape Emit::broadcastShape(ArrayRef<Value> values) {
  int64_t rank = 0;
  for (Value value : values)
    rank = std::max(rank, value.rank());
  Shape common(rank, b.getIndexAttr(1));
  for (Value value : values) {
    if (!value.isTensor() || value.rank() == 0)
      continue;
    Shape sizes = shape(value);
    for (int64_t dim = 0; dim < value.rank(); ++dim) {
      OpFoldResult &slot = common[dim + rank - value.rank()];
      // Static beats dynamic: both are the same size, as neither is 1.
      if (value.size(dim) != 1 &&
          (isOneInteger(slot) || !getConstantIntValue(slot)))
        slot = sizes[dim];
    }
  }
  return common;
}

Value Emit::size(Value x, int64_t dim) { return count(x, {dim}); }

Value Emit::count(Value x, Dims dims) {
  int64_t known = 1;
  mlir::Value unknown;
  for (int64_t dim : dims) {
    if (dim >= x.rank()) // a scalar's dimension 0
      continue;
    if (x.size(dim) != kUnknown) {
      known *= x.size(dim);
      continue;
    }
    mlir::Value size = arith::IndexCastOp::create(
        b, b.getI64Type(), tensor::DimOp::create(b, x.ir(), dim));
    unknown = unknown ? arith::MulIOp::create(b, unknown, size) : size;
  }
  if (!unknown)
    return known;
  mlir::Value factor = arith::ConstantOp::create(b, b.getI64IntegerAttr(known));
  return Value::host(arith::MulIOp::create(b, unknown, factor), DType::I64);
}

Value Emit::permute(Value x, Dims order) {
  if (llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    return x;
  Shape from = shape(x), to;
  for (int64_t dim : order)
    to.push_back(from[dim]);
  mlir::Value init = empty(to, x.dtype()).ir();
  return {linalg::TransposeOp::create(b, x.ir(), init, order).getResult()[0],
          x.dtype()};
}

Value Emit::transpose(Value x, int64_t dim0, int64_t dim1) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  if (!order.empty())
    std::swap(order[dim0], order[dim1]);
  return permute(x, order);
}

Value Emit::expandUnits(Value x, ArrayRef<bool> isUnit) {
  SmallVector<ReassociationIndices> groups(x.rank());
  SmallVector<int64_t> sizes;
  int64_t from = 0;
  for (auto [dim, unit] : llvm::enumerate(isUnit)) {
    // Units go with the dimension before them, leading ones with the first.
    if (x.rank())
      groups[std::clamp<int64_t>(unit ? from - 1 : from, 0, x.rank() - 1)]
          .push_back(dim);
    sizes.push_back(unit ? 1 : x.size(from++));
  }
  auto type = RankedTensorType::get(sizes, x.tensorType().getElementType());
  if (type == x.tensorType())
    return x;
  return {tensor::ExpandShapeOp::create(b, type, x.ir(), groups), x.dtype()};
}

Value Emit::unsqueeze(Value x, Dims dims) {
  SmallVector<bool> isUnit(x.rank() + dims.size());
  for (int64_t dim : dims)
    isUnit[dim] = true;
  return expandUnits(x, isUnit);
}

Value Emit::squeeze(Value x, Dims dims) {
  SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    if (x.size(dim) != 1 || !llvm::is_contained(dims, dim))
      sizes.push_back(x.size(dim));
  return reshape(x, sizes);
}

/// Splits both shapes into runs of equal size, as short as possible.
static bool matchRuns(Dims from, Dims to,
                      SmallVectorImpl<ReassociationIndices> &fromRuns,
                      SmallVectorImpl<ReassociationIndices> &toRuns) {
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReassociationIndices &left = fromRuns.emplace_back();
    ReassociationIndices &right = toRuns.emplace_back();
    int64_t a = from[i], c = to[j];
    left.push_back(i++);
    right.push_back(j++);
    while (a != c) {
      if (a < c ? i == from.size() : j == to.size())
        return false;
      if (a < c)
        a *= from[i], left.push_back(i++);
      else
        c *= to[j], right.push_back(j++);
    }
  }
  // What remains has size 1.
  for (; i < from.size(); ++i)
    fromRuns.back().push_back(i);
  for (; j < to.size(); ++j)
    toRuns.back().push_back(j);
  return true;
}

Value Emit::reshape(Value x, Dims sizes) {
  RankedTensorType from = x.tensorType();
  SmallVector<int64_t> to(sizes);
  if (from.hasStaticShape() && llvm::count(to, kUnknown) == 1) {
    int64_t rest = 1;
    for (int64_t size : to)
      rest *= size == kUnknown ? 1 : size;
    *llvm::find(to, kUnknown) = rest ? from.getNumElements() / rest : 0;
  }
  Type element = from.getElementType();
  auto target = RankedTensorType::get(to, element);
  if (target == from)
    return x;
  if (target.hasStaticShape() && target.getNumElements() == 0)
    // Computed, so that it has a place where a library call reads it; complex
    // numbers have no arithmetic to compute it with.
    return hasArithmetic(x.dtype()) ? full(shape(to), x.dtype(), 0)
                                    : empty(shape(to), x.dtype());
  auto result = [&](mlir::Value ir) { return Value(ir, x.dtype()); };
  if (auto groups = getReassociationIndicesForReshape(from, target)) {
    if (from.getRank() > target.getRank())
      return result(
          tensor::CollapseShapeOp::create(b, target, x.ir(), *groups));
    return result(tensor::ExpandShapeOp::create(b, target, x.ir(), *groups));
  }
  SmallVector<ReassociationIndices> fromRuns, toRuns;
  bool isStatic = from.hasStaticShape() && target.hasStaticShape();
  if (!isStatic || !from.getRank() || !target.getRank() ||
      !matchRuns(from.getShape(), to, fromRuns, toRuns)) {
    fromRuns.assign(1,
                    llvm::to_vector<2>(llvm::seq<int64_t>(0, from.getRank())));
    toRuns.assign(1, llvm::to_vector<2>(llvm::seq<int64_t>(0, to.size())));
  }
  mlir::Value ir = x.ir();
  if (fromRuns.size() != size_t(from.getRank()))
    ir = tensor::CollapseShapeOp::create(b, ir, fromRuns);
  if (toRuns.size() != to.size())
    ir = tensor::ExpandShapeOp::create(b, target, ir, toRuns);
  return result(ir);
}

} // namespace ltc::compiler
