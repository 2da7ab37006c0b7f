//===- split_reductions.cpp - Long reductions in parts --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction is one iteration of its kernel's parallel loop for each row, or
// for each block of columns: a sum of a whole tensor would run on one thread.
// Here a long one becomes a reduction of parts, which are rows, and one of what
// they gave. The parts depend on the shape alone, so that the value does not
// depend on the number of threads. Of a loop of symbolic length each part has
// as many iterations as divide the formula, or one.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/groups.h"
#include "mlir_lowering/optimize/matrix_product.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/optimize/row_blocks.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

int64_t work(GenericOp op) { return iterations(op) * pointCost(op); }

/// Points of the reduction that one part should have; 0 if it stays whole.
int64_t partPoints(GenericOp op, int64_t points, const Tuning &tuning) {
  const TargetFacts &facts = tuning.facts;
  int64_t columns = tuning.schedule(kind::kColumnReduce).tile;
  int64_t results = iterations(op) / points;
  bool isRow = reductionKind(op) == kind::kRowReduce;
  int64_t parallel = isRow ? results : llvm::divideCeil(results, columns);
  if (parallel >= std::min(facts.enough_parts, work(op) / facts.little_work))
    return 0;
  int64_t part = facts.part_work / pointCost(op);
  return std::max(facts.part_points, isRow ? part : part / results);
}

std::optional<Split> chooseSplit(GenericOp op, const Tuning &tuning) {
  SizeTable &table = sizeTable(op.getContext());
  SmallVector<int64_t> sizes = loopSizes(op), usual = usualLoopSizes(op);
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  int64_t points = 1;
  for (unsigned dim : reductions)
    points *= usual[dim];
  int64_t part = partPoints(op, points, tuning);
  if (part == 0)
    return std::nullopt;
  // The outermost loop in memory that gives enough parts: the runs stay long.
  AffineMap map = op.getMatchingIndexingMap(largestInput(op));
  std::optional<Split> best;
  for (AffineExpr result : map.getResults()) {
    unsigned dim = cast<AffineDimExpr>(result).getPosition();
    if (!llvm::is_contained(reductions, dim))
      continue;
    int64_t turn = points / usual[dim];
    Split split = Split::ofLoop(table, dim, sizes[dim],
                                std::max<int64_t>(1, part / turn));
    int64_t parts = table.hint(split.parts);
    if (parts > 1 && split.length * turn >= tuning.facts.part_points &&
        (!best || parts > 2 * table.hint(best->parts)))
      best = split;
  }
  return best;
}

bool maySplit(GenericOp op, int64_t littleWork) {
  return op.getNumReductionLoops() != 0 && !op.hasIndexSemantics() &&
         work(op) > littleWork && largestInput(op) &&
         !llvm::is_contained(loopSizes(op), ShapedType::kDynamic) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

} // namespace

/// Cuts a reduction into blocks of rows; returns the sum of what they gave.
static GenericOp splitIntoBlocks(GenericOp op, const Folding &folding,
                                 const TargetFacts &facts) {
  if (reductionKind(op) != kind::kColumnReduce)
    return {};
  auto blocks = chooseBlocks(op, facts);
  Operation *place = blocks ? placeForBlocks(op) : nullptr;
  if (!place)
    return {};
  return Splitter(op, folding, *blocks).runBehind(place);
}

LogicalResult splitReductions(func::FuncOp main,
                              const OptimizeOptions &options) {
  const Tuning &tuning = options.tuning;
  auto foldingOf = [&](GenericOp op) {
    bool isProduct = tuning.facts.matrix_work != 0 && MatrixProduct::of(op);
    return !isProduct && maySplit(op, tuning.facts.little_work)
               ? Folding::of(op)
               : std::nullopt;
  };
  for (GenericOp op : llvm::to_vector(main.getOps<GenericOp>())) {
    auto folding = foldingOf(op);
    if (!folding || folding->isChoice())
      continue;
    if (GenericOp sum = splitIntoBlocks(op, *folding, tuning.facts)) {
      op = sum;
      folding = foldingOf(op);
    }
    if (auto split = folding ? chooseSplit(op, tuning) : std::nullopt)
      Splitter(op, *folding, *split).run();
  }
  return success();
}

} // namespace ltc::compiler
