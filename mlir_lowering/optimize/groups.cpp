//===- groups.cpp - Which ops become one kernel -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/groups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/optimize.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

bool isFill(Operation *op) {
  auto generic = dyn_cast<GenericOp>(op);
  if (!generic || generic->getNumResults() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops() ||
      llvm::any_of(generic.getDpsInputs(), [](Value input) {
        return isa<mlir::TensorType>(input.getType());
      }))
    return false;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  Value value = yield.getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getOwner() == generic.getBody())
      return argument.getArgNumber() < generic.getNumDpsInputs();
  return value.getParentBlock() != generic.getBody() ||
         matchPattern(value, m_Constant());
}

static bool touchesTensors(Operation *op) {
  auto isTensor = llvm::IsaPred<mlir::TensorType>;
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

bool staysInMain(Operation *op) {
  return !touchesTensors(op) ||
         isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::ExtractOp, tensor::DimOp,
             arith::ConstantOp, CallOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// The loop dimension that runs along the fastest dimension of the largest
/// input decides between rows and columns.
static StringRef reductionKind(GenericOp op) {
  Value largest;
  AffineMap map;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!isa<mlir::TensorType>(input->get().getType()))
      continue;
    if (!largest || elementCount(input->get().getType()) >
                        elementCount(largest.getType())) {
      largest = input->get();
      map = op.getMatchingIndexingMap(input);
    }
  }
  auto iterators = op.getIteratorTypesArray();
  for (unsigned i = map ? map.getNumResults() : 0; i-- > 0;) {
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(i));
    if (!dim || cast<ShapedType>(largest.getType()).getDimSize(i) == 1)
      continue;
    return (iterators[dim.getPosition()] == utils::IteratorType::reduction)
               ? kind::kRowReduce
               : kind::kColumnReduce;
  }
  return kind::kRowReduce;
}

/// Dimensions that a forall may tile: parallel, and a plain dimension of every
/// result, so that no two iterations write one element.
static SmallVector<int64_t> tileableDims(GenericOp op) {
  SmallVector<int64_t> dims;
  auto iterators = op.getIteratorTypesArray();
  for (auto [dim, iterator] : llvm::enumerate(iterators)) {
    auto expr = getAffineDimExpr(dim, op.getContext());
    bool inAll = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
      return llvm::is_contained(
          op.getMatchingIndexingMap(&init).getResults(), expr);
    });
    if (iterator == utils::IteratorType::parallel && inAll)
      dims.push_back(dim);
  }
  return dims;
}

SmallVector<Group> findGroups(func::FuncOp main) {
  SmallVector<Group> groups;
  for (Operation &op : main.getBody().front()) {
    if (staysInMain(&op) || (isFill(&op) && op.hasAttr("ltc.private")))
      continue;
    Group &group = groups.emplace_back();
    group.kind = kind::kSerial;
    auto generic = dyn_cast<GenericOp>(op);
    if (!generic) {
      group.ops.push_back(&op);
      group.rows.emplace_back();
      continue;
    }
    SmallVector<int64_t> rows = tileableDims(generic);
    for (OpOperand &init : generic.getDpsInitsMutable()) {
      Operation *fill = init.get().getDefiningOp();
      if (!fill || !fill->hasAttr("ltc.private"))
        continue;
      AffineMap map = generic.getMatchingIndexingMap(&init);
      SmallVector<int64_t> fillRows;
      for (int64_t row : rows)
        fillRows.push_back(*map.getResultPosition(
            getAffineDimExpr(row, main.getContext())));
      group.ops.push_back(fill);
      group.rows.push_back(fillRows);
    }
    group.ops.push_back(&op);
    group.rows.push_back(rows);
    if (rows.empty())
      continue;
    if (generic.getNumReductionLoops() == 0)
      group.kind = kind::kPointwise;
    else
      group.kind = reductionKind(generic);
  }
  return groups;
}

} // namespace ltc::compiler
