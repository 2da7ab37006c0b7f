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

void Emit::refuse(const Twine &why) {
  if (!refused)
    mlir::emitError(b.getLoc()) << "not for dynamic sizes: " << why;
  refused = true;
}

SmallVector<OpFoldResult> Emit::values(Dims sizes) {
  Shape known(sizes);
  for (int64_t &size : known)
    if (ShapedType::isDynamic(size)) {
      refuse("nothing says what a size of an operand is");
      size = 1;
    }
  return sizeValues(b, b.getLoc(), known);
}

Shape Emit::broadcastShape(ArrayRef<Value> values) {
  int64_t rank = 0;
  for (Value value : values)
    rank = std::max(rank, value.rank());
  Shape common(rank, 1);
  for (Value value : values) {
    if (!value.isTensor())
      continue;
    Shape sizes = shape(value);
    for (int64_t dim = 0; dim < value.rank(); ++dim) {
      int64_t &slot = common[dim + rank - value.rank()];
      if (slot == 1)
        slot = sizes[dim];
    }
  }
  return common;
}

Value Emit::count(Value x, Dims dims) {
  Shape sizes;
  for (int64_t dim : dims)
    if (dim < x.rank()) // a scalar has a dimension 0
      sizes.push_back(x.size(dim));
  return product(sizes);
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
  auto type = shapedAs(sizes, x.tensorType().getElementType());
  if (type == x.tensorType()) // there is no unit
    return x;
  return {tensor::ExpandShapeOp::create(b, type, x.ir(), groups, values(sizes)),
          x.dtype()};
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

namespace {
/// Two shapes of as many elements, split into runs of equal size, as short as
/// possible. Products of symbolic sizes are compared as formulas; which side a
/// run is too short on is told by their hints.
class MatchedRuns {
public:
  MatchedRuns(SizeTable &table, Dims from, Dims to) : table(table) {
    if (!match(from, to)) {
      fromRuns.assign(1,
                      llvm::to_vector<2>(llvm::seq<int64_t>(0, from.size())));
      toRuns.assign(1, llvm::to_vector<2>(llvm::seq<int64_t>(0, to.size())));
    }
  }

  SmallVector<ReassociationIndices> fromRuns, toRuns;

private:
  bool match(Dims from, Dims to) {
    size_t i = 0, j = 0;
    while (i < from.size() && j < to.size()) {
      ReassociationIndices &left = fromRuns.emplace_back();
      ReassociationIndices &right = toRuns.emplace_back();
      Formula a(1), c(1);
      auto growLeft = [&] {
        left.push_back(i);
        a = a * table.formula(from[i++]);
      };
      auto growRight = [&] {
        right.push_back(j);
        c = c * table.formula(to[j++]);
      };
      growLeft();
      growRight();
      while (a != c) {
        bool leftIsShort = table.hint(a) < table.hint(c);
        if (leftIsShort ? i == from.size() : j == to.size())
          return false;
        leftIsShort ? growLeft() : growRight();
      }
    }
    if (fromRuns.empty())
      return false;
    // What remains has size 1.
    for (; i < from.size(); ++i)
      fromRuns.back().push_back(i);
    for (; j < to.size(); ++j)
      toRuns.back().push_back(j);
    return true;
  }

  SizeTable &table;
};
} // namespace

Value Emit::reshape(Value x, Dims to) {
  Shape from = shape(x);
  if (from == Shape(to))
    return x;
  if (product(from) != product(to)) {
    refuse("a reshape that no formula shows to keep the number of elements");
    return x;
  }
  if (llvm::is_contained(to, 0))
    // Computed, so that it has a place where a library call reads it; complex
    // numbers have no arithmetic to compute it with.
    return hasArithmetic(x.dtype()) ? full(Shape(to), x.dtype(), 0)
                                    : empty(Shape(to), x.dtype());
  Type element = x.tensorType().getElementType();
  auto target = shapedAs(to, element);
  auto result = [&](mlir::Value ir) { return Value(ir, x.dtype()); };
  bool isStatic = x.tensorType().hasStaticShape() && target.hasStaticShape();
  if (isStatic)
    if (auto groups =
            getReassociationIndicesForReshape(x.tensorType(), target)) {
      if (from.size() > to.size())
        return result(
            tensor::CollapseShapeOp::create(b, target, x.ir(), *groups));
      return result(tensor::ExpandShapeOp::create(b, target, x.ir(), *groups));
    }
  MatchedRuns runs(sizeTable(b.getContext()), from, to);
  mlir::Value ir = x.ir();
  if (runs.fromRuns.size() != from.size())
    ir = tensor::CollapseShapeOp::create(b, ir, runs.fromRuns);
  if (runs.toRuns.size() != to.size())
    ir = tensor::ExpandShapeOp::create(b, target, ir, runs.toRuns, values(to));
  return result(ir);
}

} // namespace ltc::compiler
