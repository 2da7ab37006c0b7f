//===- index_set_splitting.cpp - Loops without conditions -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a row reads by its position may be i - 1 in the middle, and something
// else at its ends: of a padding, a window that reaches beyond the row. Vectors
// cannot tell that elements are side by side where a comparison of the position
// has a say. So the row is cut where comparisons change: in each part they are
// constants, and fold.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/index_set_splitting.h"
#include "mlir_lowering/target/cpu/loops/known_lines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

class Splitter {
public:
  explicit Splitter(GenericOp op) : op(op), b(op.getLoc(), op) {}

  SmallVector<GenericOp> run() {
    if (!findRow())
      return {op};
    int64_t simple = 0;
    SmallVector<Part> parts = findParts(simple);
    if (parts.empty() || 2 * simple < extent)
      return {op};
    SmallVector<GenericOp> made;
    llvm::sort(parts, [](Part a, Part b) {
      return a.size() != b.size() ? a.size() > b.size() : a.begin < b.begin;
    });
    for (Part part : parts)
      made.push_back(emit(part));
    op.erase();
    return made;
  }

private:
  /// The dimension along which all results are dense, and only they and plain
  /// operands run.
  bool findRow() {
    if (op.getNumParallelLoops() != op.getNumLoops() ||
        op.getNumDpsInits() == 0 ||
        op.getBody()->getOps<memref::LoadOp>().empty())
      return false;
    AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    if (result.getNumResults() == 0 || !result.isProjectedPermutation())
      return false;
    dim = result.getDimPosition(result.getNumResults() - 1);
    extent = op.getStaticLoopRanges()[dim];
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (map.isFunctionOfDim(dim) &&
          (!map.isProjectedPermutation() ||
           !isa<MemRefType>(operand.get().getType())))
        return false;
    }
    return !ShapedType::isDynamic(extent);
  }

  /// Whether a load is of elements side by side, or evenly apart, only because
  /// something is decided.
  bool isSimpler(const Known &known) {
    return llvm::any_of(op.getBody()->getOps<memref::LoadOp>(),
                        [&](memref::LoadOp load) {
                          return !load.getIndices().empty() &&
                                 known.isDecided(load.getIndices().back());
                        });
  }

  /// Long parts that are simple, and what lies between them; none if there are
  /// too many. `simple` counts positions.
  SmallVector<Part> findParts(int64_t &simple) {
    constexpr int64_t mostCuts = 64, shortest = 8;
    constexpr size_t mostParts = 8;
    SmallVector<Part> parts;
    bool isOpen = false; // the last part may grow
    int64_t cuts = 0;
    for (int64_t begin = 0; begin < extent;) {
      Part part{begin, extent};
      Known known(op, dim, part);
      bool isLong = part.size() >= std::min(shortest, extent);
      if (++cuts > mostCuts || (isLong && !isSimpler(known)))
        return {};
      if (isLong || !isOpen)
        parts.push_back(part);
      else
        parts.back().end = part.end;
      simple += isLong ? part.size() : 0;
      isOpen = !isLong;
      begin = part.end;
    }
    return parts.size() <= mostParts ? parts : SmallVector<Part>();
  }

  GenericOp emit(Part part) {
    auto made = cast<GenericOp>(b.clone(*op));
    if (part.size() != extent)
      for (OpOperand &operand : made->getOpOperands())
        narrow(made, operand, part);
    OpBuilder inside = OpBuilder::atBlockBegin(made.getBody());
    Value local = linalg::IndexOp::create(inside, op.getLoc(), dim);
    Value index = lineAlong(inside, local, {1, part.begin}, local.getType());
    for (auto old : made.getBody()->getOps<linalg::IndexOp>())
      if (old.getDim() == dim && old != local.getDefiningOp())
        old.getResult().replaceAllUsesWith(index);
    simplify(made, local, part.size());
    return made;
  }

  void narrow(GenericOp made, OpOperand &operand, Part part) {
    AffineMap map = made.getMatchingIndexingMap(&operand);
    if (!map.isFunctionOfDim(dim))
      return;
    int64_t place = *map.getResultPosition(b.getAffineDimExpr(dim));
    SmallVector<OpFoldResult> offsets, sizes,
        strides(map.getNumResults(), b.getIndexAttr(1));
    for (int64_t i = 0; i < int64_t(map.getNumResults()); ++i) {
      offsets.push_back(b.getIndexAttr(i == place ? part.begin : 0));
      sizes.push_back(
          i == place ? OpFoldResult(b.getIndexAttr(part.size()))
                     : memref::getMixedSize(b, b.getLoc(), operand.get(), i));
    }
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(made);
    operand.set(
        memref::SubViewOp::create(b, operand.get(), offsets, sizes, strides));
  }

  /// Writes what is known of a part into its body.
  void simplify(GenericOp made, Value local, int64_t size) {
    Part part{0, size};
    Known known(made, dim, part);
    if (part.size() != size) // several parts, left as they were
      return;
    Block *body = made.getBody();
    OpBuilder inside(made.getContext());
    for (Operation &inner : body->without_terminator()) {
      inside.setInsertionPoint(&inner);
      SmallVector<Value> values;
      if (inner.getNumResults() == 1 && known.isDecided(inner.getResult(0)))
        values.push_back(lineAlong(inside, local,
                                   *known.find(inner.getResult(0)),
                                   inner.getResult(0).getType()));
      else if (failed(inside.tryFold(&inner, values)) || values.empty())
        continue; // as it is, or folded where it stands
      inner.replaceAllUsesWith(values);
    }
    for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&inner))
        inner.erase();
  }

  /// A line as indices that VectorBody can follow.
  Value lineAlong(OpBuilder &inside, Value index, Line line, Type type) {
    ImplicitLocOpBuilder in(op.getLoc(), inside);
    auto number = [&](Type type, int64_t value) -> Value {
      return arith::ConstantOp::create(in, in.getIntegerAttr(type, value));
    };
    if (line.step == 0)
      return number(type, line.offset);
    Value value = index;
    if (line.step != 1)
      value =
          arith::MulIOp::create(in, value, number(value.getType(), line.step));
    if (line.offset != 0)
      value = arith::AddIOp::create(in, value,
                                    number(value.getType(), line.offset));
    return type.isIndex() ? value : arith::IndexCastOp::create(in, type, value);
  }

  GenericOp op;
  ImplicitLocOpBuilder b;
  unsigned dim = 0;
  int64_t extent = 0;
};

} // namespace

SmallVector<GenericOp> splitIndexSets(GenericOp op) {
  return Splitter(op).run();
}

} // namespace ltc::compiler
