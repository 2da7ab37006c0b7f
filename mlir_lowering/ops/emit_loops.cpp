//===- emit_loops.cpp - Element-wise maps and reductions --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/emit.h"
#include "mlir_lowering/ops/extreme.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir_lowering/dialect/element_type.h"

#include <limits>

namespace ltc::compiler {

using namespace mlir;

/// Loops over a shape, none over its dimensions of size 1.
struct Emit::LoopNest {
  LoopNest(const Shape &shape) {
    for (int64_t size : shape) {
      bool unit = size == 1;
      isUnit.push_back(unit);
      loopOf.push_back(unit ? -1 : int64_t(sizes.size()));
      if (!unit)
        sizes.push_back(size);
    }
  }
  size_t rank() const { return isUnit.size(); }

  Shape sizes;                 ///< of the loops
  SmallVector<bool> isUnit;    ///< for each dimension of the shape
  SmallVector<int64_t> loopOf; ///< -1 for a unit
};

/// How the nest reads x: right-aligned, without x's dimensions of size 1.
/// So maps are projected permutations, which tiling and fusion want.
Emit::Access Emit::access(Value x, const LoopNest &nest) {
  int64_t rank = x.rank(), shift = int64_t(nest.rank()) - rank;
  SmallVector<AffineExpr> exprs;
  SmallVector<int64_t> kept;
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices leading;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (x.size(dim) != 1) {
      int64_t loop = nest.loopOf[dim + shift];
      int64_t length = loop < 0 ? 1 : nest.sizes[loop];
      // One that is 1 in some run would be broadcast there, and not here.
      if (length != x.size(dim) &&
          (isSymbolic(length) || isSymbolic(x.size(dim))))
        refuse("different sizes meet in dimension " + Twine(dim + shift));
      exprs.push_back(b.getAffineDimExpr(nest.loopOf[dim + shift]));
      kept.push_back(x.size(dim));
      groups.push_back({dim});
      if (groups.size() == 1) {
        leading.push_back(dim);
        groups[0] = leading;
      }
    } else if (groups.empty()) {
      leading.push_back(dim);
    } else {
      groups.back().push_back(dim);
    }
  }
  auto map = AffineMap::get(nest.sizes.size(), 0, exprs, b.getContext());
  if (int64_t(kept.size()) == rank)
    return {x.ir(), map};
  // The source of a reshape that only added units, else a reshape.
  if (auto expanded = x.ir().getDefiningOp<tensor::ExpandShapeOp>())
    if (sizesOf(expanded.getSrc()) == kept)
      return {expanded.getSrc(), map};
  return {tensor::CollapseShapeOp::create(b, x.ir(), groups), map};
}

Values Emit::indices(Scalar s, size_t rank) {
  Values at;
  for (size_t dim = 0; dim < rank; ++dim)
    at.push_back(s.index(dim));
  return at;
}

Values Emit::mapMany(ArrayRef<Value> operands, Body body) {
  return mapMany(broadcastShape(operands), operands, body);
}

Values Emit::mapMany(const Shape &shape, ArrayRef<Value> operands, Body body) {
  LoopNest nest(shape);
  SmallVector<mlir::Value> ins;
  SmallVector<AffineMap> maps;
  auto block = std::make_unique<Block>();
  for (Value operand : operands) {
    if (!operand.isTensor())
      continue;
    Access read = access(operand, nest);
    ins.push_back(read.tensor);
    maps.push_back(read.map);
    block->addArgument(getElementTypeOrSelf(read.tensor), b.getLoc());
  }

  // The body comes first: it decides the types of the results.
  ImplicitLocOpBuilder inner(b.getLoc(), b.getContext());
  inner.setInsertionPointToEnd(block.get());
  Scalar s(inner, site, nest.loopOf);
  Values elements;
  unsigned next = 0;
  for (Value operand : operands)
    elements.push_back(
        operand.isTensor()
            ? s.fromMemory(block->getArgument(next++), operand.dtype())
            : operand);
  Values outputs = body(s, elements);
  SmallVector<mlir::Value> yields, inits;
  SmallVector<Type> types;
  for (Value &output : outputs) {
    if (output.isLiteral())
      output = s.number(output, output.isReal() ? DType::F32 : output.dtype());
    yields.push_back(s.toMemory(output, output.dtype()));
    Type element = yields.back().getType();
    inits.push_back(tensor::EmptyOp::create(b, values(nest.sizes), element));
    types.push_back(inits.back().getType());
    maps.push_back(b.getMultiDimIdentityMap(nest.sizes.size()));
    block->addArgument(element, b.getLoc());
  }
  linalg::YieldOp::create(inner, yields);

  SmallVector<utils::IteratorType> loops(nest.sizes.size(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(b, types, ins, inits, maps, loops);
  generic.getRegion().push_back(block.release());
  Values results;
  for (auto [ir, output] : llvm::zip_equal(generic.getResults(), outputs))
    results.push_back(expandUnits({ir, output.dtype()}, nest.isUnit));
  return results;
}

Values Emit::reduceUnits(ArrayRef<Value> operands, Dims dims,
                         ArrayRef<Accumulator> state, Combine combine) {
  Values results =
      mapMany(operands, [&](Scalar s, ArrayRef<Value> elements) -> Values {
        Values before;
        for (const Accumulator &accumulator : state)
          before.push_back(accumulator.init.isLiteral()
                               ? s.number(accumulator.init, accumulator.dtype)
                               : s.cast(accumulator.init, accumulator.dtype));
        Values after = combine(s, elements, before);
        for (auto [value, accumulator] : llvm::zip_equal(after, state))
          value = s.cast(value, accumulator.dtype);
        return after;
      });
  for (Value &result : results)
    result = squeeze(result, dims);
  return results;
}

/// What a reduction makes of the loops of a nest.
struct Emit::ReducedNest {
  ReducedNest(const LoopNest &nest, Dims dims, bool keepdim, Builder &b) {
    SmallVector<bool> reduced(nest.rank());
    for (int64_t dim : dims)
      if (dim < int64_t(nest.rank())) { // a scalar has a dimension 0 to reduce
        reduced[dim] = true;
        hasLoop |= !nest.isUnit[dim];
        if (!keepdim)
          dropped.push_back(dim);
      }
    for (size_t dim = 0; dim < nest.rank(); ++dim) {
      if (!reduced[dim] || keepdim)
        isUnit.push_back(reduced[dim] || nest.isUnit[dim]);
      if (nest.isUnit[dim])
        continue;
      kinds.push_back(reduced[dim] ? utils::IteratorType::reduction
                                   : utils::IteratorType::parallel);
      if (reduced[dim])
        continue;
      kept.push_back(nest.sizes[nest.loopOf[dim]]);
      keptExprs.push_back(b.getAffineDimExpr(nest.loopOf[dim]));
    }
  }

  bool hasLoop = false;         ///< else all that is reduced has size 1
  SmallVector<int64_t> dropped; ///< dimensions that the result has not
  Shape kept;                   ///< of the loops that are no reduction
  SmallVector<AffineExpr> keptExprs;
  SmallVector<utils::IteratorType> kinds; ///< for each loop
  SmallVector<bool> isUnit;               ///< for each dimension of the result
};

Values Emit::reduce(ArrayRef<Value> operands, Dims dims, bool keepdim,
                    ArrayRef<Accumulator> state, Combine combine) {
  LoopNest nest(broadcastShape(operands));
  ReducedNest reduced(nest, dims, keepdim, b);
  if (!reduced.hasLoop)
    return reduceUnits(operands, reduced.dropped, state, combine);

  SmallVector<mlir::Value> ins, inits;
  SmallVector<AffineMap> maps;
  for (Value operand : operands)
    if (operand.isTensor()) {
      Access read = access(operand, nest);
      ins.push_back(read.tensor);
      maps.push_back(read.map);
    }
  for (const Accumulator &accumulator : state) {
    inits.push_back(
        full(reduced.kept, accumulator.dtype, accumulator.init).ir());
    maps.push_back(AffineMap::get(nest.sizes.size(), 0, reduced.keptExprs,
                                  b.getContext()));
  }
  auto generic = linalg::GenericOp::create(
      b, TypeRange(ValueRange(inits)), ins, inits, maps, reduced.kinds,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder inner(loc, nested);
        Scalar s(inner, site, nest.loopOf);
        Values elements, before;
        unsigned next = 0;
        for (Value operand : operands)
          elements.push_back(
              operand.isTensor()
                  ? s.fromMemory(arguments[next++], operand.dtype())
                  : operand);
        for (const Accumulator &accumulator : state)
          before.push_back(s.fromMemory(arguments[next++], accumulator.dtype));
        SmallVector<mlir::Value> yields;
        for (auto [value, accumulator] :
             llvm::zip_equal(combine(s, elements, before), state))
          yields.push_back(s.toMemory(value, accumulator.dtype));
        linalg::YieldOp::create(inner, yields);
      });
  Values results;
  for (auto [ir, accumulator] : llvm::zip_equal(generic.getResults(), state))
    results.push_back(expandUnits({ir, accumulator.dtype}, reduced.isUnit));
  return results;
}

/// One accumulator, combined by a method of Scalar.
static Value reduceBy(Emit &e, Value x, Dims dims, bool keepdim, DType dtype,
                      Value init, Value (Scalar::*combine)(Value, Value)) {
  return e.reduce(
      {x}, dims, keepdim, {{dtype, init}},
      [&](Scalar s, ArrayRef<Value> v, ArrayRef<Value> a) -> Values {
        return {(s.*combine)(a[0], s.cast(v[0], dtype))};
      })[0];
}

Value extreme(DType dtype, bool least) {
  if (isFloat(dtype)) {
    double infinity = std::numeric_limits<double>::infinity();
    return least ? -infinity : infinity;
  }
  unsigned bits = dtype == DType::Bool ? 1 : byteSize(dtype) * 8;
  if (isUnsigned(dtype))
    return least ? int64_t(0) : int64_t(llvm::maskTrailingOnes<uint64_t>(bits));
  return least ? llvm::minIntN(bits) : llvm::maxIntN(bits);
}

Value Emit::reduceSum(Value x, Dims dims, bool keepdim) {
  return reduceBy(*this, x, dims, keepdim, sumDType(x.dtype()), 0,
                  &Scalar::add);
}
Value Emit::reduceProd(Value x, Dims dims, bool keepdim) {
  return reduceBy(*this, x, dims, keepdim, sumDType(x.dtype()), 1,
                  &Scalar::mul);
}
Value Emit::reduceMax(Value x, Dims dims, bool keepdim) {
  DType dtype = computeDType(x.dtype());
  return reduceBy(*this, x, dims, keepdim, dtype, extreme(dtype, true),
                  &Scalar::max);
}
Value Emit::reduceMin(Value x, Dims dims, bool keepdim) {
  DType dtype = computeDType(x.dtype());
  return reduceBy(*this, x, dims, keepdim, dtype, extreme(dtype, false),
                  &Scalar::min);
}
Value Emit::reduceAny(Value x, Dims dims, bool keepdim) {
  return reduceBy(*this, x, dims, keepdim, DType::Bool, false,
                  &Scalar::logicalOr);
}
Value Emit::reduceAll(Value x, Dims dims, bool keepdim) {
  return reduceBy(*this, x, dims, keepdim, DType::Bool, true,
                  &Scalar::logicalAnd);
}
Value Emit::reduceMean(Value x, Dims dims, bool keepdim) {
  return div(reduceSum(x, dims, keepdim), count(x, dims));
}

Emit::ValueAndIndex Emit::reduceArg(Value x, int64_t dim, bool keepdim,
                                    bool max) {
  DType dtype = computeDType(x.dtype());
  int64_t last = std::numeric_limits<int64_t>::max();
  Values results = reduce(
      {x}, {dim}, keepdim, {{dtype, extreme(dtype, max)}, {DType::I64, last}},
      [&](Scalar s, ArrayRef<Value> v, ArrayRef<Value> best) -> Values {
        // First by value (NaN before all), then by index.
        Value at = s.index(dim);
        Value better = max ? s.gt(v[0], best[0]) : s.lt(v[0], best[0]);
        Value same = s.eq(v[0], best[0]);
        if (isFloat(dtype)) {
          Value nan = s.isNan(v[0]), bestNan = s.isNan(best[0]);
          better =
              s.logicalOr(better, s.logicalAnd(nan, s.logicalNot(bestNan)));
          same = s.logicalOr(same, s.logicalAnd(nan, bestNan));
        }
        Value take = s.logicalOr(better, s.logicalAnd(same, s.lt(at, best[1])));
        return {s.select(take, v[0], best[0]), s.select(take, at, best[1])};
      });
  return {results[0], results[1]};
}
Emit::ValueAndIndex Emit::reduceArgMax(Value x, int64_t dim, bool keepdim) {
  return reduceArg(x, dim, keepdim, /*max=*/true);
}
Emit::ValueAndIndex Emit::reduceArgMin(Value x, int64_t dim, bool keepdim) {
  return reduceArg(x, dim, keepdim, /*max=*/false);
}

Value Emit::expand(Value x, const Shape &shape) {
  LoopNest nest(shape);
  mlir::Value init = empty(nest.sizes, x.dtype()).ir();
  Access read = access(x, nest);
  auto identity = b.getMultiDimIdentityMap(nest.sizes.size());
  if (read.map == identity)
    return expandUnits({read.tensor, x.dtype()}, nest.isUnit);
  SmallVector<utils::IteratorType> loops(nest.sizes.size(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, init.getType(), read.tensor, init, {read.map, identity}, loops,
      [](OpBuilder &nested, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(nested, loc, arguments[0]);
      });
  return expandUnits({generic.getResult(0), x.dtype()}, nest.isUnit);
}

Value Emit::cast(Value x, DType dtype) {
  if (!x.isTensor() || x.dtype() == dtype)
    return x;
  return map(x, [&](Scalar s, Value v) { return s.cast(v, dtype); });
}

} // namespace ltc::compiler
