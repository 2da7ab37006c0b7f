//===- row_blocks.cpp - Sums along columns, by blocks of rows -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that goes through a matrix row by row can add up its columns as it
// goes, if only those of a block of rows: blocks run in parallel, and a second
// kernel adds up what they gave. So a matrix is read once for a gradient and
// for what a bias's gradient is of it. groups.cpp makes them one loop, which
// tile_rows.cpp writes.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/row_blocks.h"

#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/groups.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

/// The dimensions of an op's largest input that it reduces, outermost first.
SmallVector<unsigned> reductionsInMemory(GenericOp op) {
  auto iterators = op.getIteratorTypesArray();
  SmallVector<unsigned> dims;
  for (AffineExpr result :
       op.getMatchingIndexingMap(largestInput(op)).getResults())
    if (unsigned dim = cast<AffineDimExpr>(result).getPosition();
        iterators[dim] == utils::IteratorType::reduction)
      dims.push_back(dim);
  return dims;
}

} // namespace

std::optional<Split> chooseBlocks(GenericOp op, const TargetFacts &facts) {
  SizeTable &table = sizeTable(op.getContext());
  SmallVector<int64_t> sizes = loopSizes(op), usual = usualLoopSizes(op);
  SmallVector<unsigned> dims = reductionsInMemory(op);
  int64_t rows = 1;
  for (unsigned dim : dims)
    rows *= usual[dim];
  if (rows < facts.enough_parts * facts.fewest_block_rows ||
      iterations(op) / rows > facts.longest_block_row)
    return std::nullopt;
  int64_t wanted = std::min(rows / facts.enough_parts, facts.block_rows);
  int64_t inside = 1; // rows of the loops within the one that is cut
  while (!dims.empty() && !isSymbolic(sizes[dims.back()]) &&
         inside * usual[dims.back()] <= wanted)
    inside *= usual[dims.pop_back_val()];
  if (dims.empty())
    return std::nullopt;
  unsigned cut = dims.pop_back_val();
  Split split = Split::ofLoop(table, cut, sizes[cut], wanted / inside);
  split.around = dims;
  bool hasRows = split.length * inside >= facts.fewest_block_rows;
  return hasRows && split.rest == 0 ? std::optional(split) : std::nullopt;
}

/// Ops that go through the rows which a sum along columns adds up: they compute
/// or read them, and stand before it.
static SmallVector<Operation *> companionsOf(GenericOp sum) {
  SmallVector<unsigned> dims = reductionsInMemory(sum);
  SmallVector<Operation *> found;
  auto take = [&](GenericOp op, AffineMap theirs, AffineMap ours) {
    auto iterators = op.getIteratorTypesArray();
    auto isRow = [&](unsigned dim) {
      auto place =
          ours.getResultPosition(getAffineDimExpr(dim, op.getContext()));
      return place && iterators[theirs.getDimPosition(*place)] ==
                          utils::IteratorType::parallel;
    };
    if (op->isBeforeInBlock(sum) && theirs.isProjectedPermutation() &&
        llvm::all_of(dims, isRow))
      found.push_back(op);
  };
  int64_t large = elementCount(largestInput(sum)->get());
  for (OpOperand *input : sum.getDpsInputOperands()) {
    Value value = input->get();
    if (elementCount(value) != large)
      continue;
    AffineMap map = sum.getMatchingIndexingMap(input);
    if (auto maker = value.getDefiningOp<GenericOp>(); maker && !isFill(maker))
      take(maker, maker.getIndexingMapMatchingResult(cast<OpResult>(value)),
           map);
    for (OpOperand &use : value.getUses())
      if (auto reader = dyn_cast<GenericOp>(use.getOwner());
          reader && reader.isDpsInput(&use))
        take(reader, reader.getMatchingIndexingMap(&use), map);
  }
  return found;
}

Operation *placeForBlocks(GenericOp sum) {
  SmallVector<Value> inputs = sum.getDpsInputs();
  llvm::SetVector<Value> read(inputs.begin(), inputs.end());
  getUsedValuesDefinedAbove(sum->getRegions(), read);
  Operation *last = nullptr; // that computes what is read
  for (Value value : read)
    if (Operation *def = value.getDefiningOp();
        def && (!last || last->isBeforeInBlock(def)))
      last = def;
  SmallVector<Operation *> companions = companionsOf(sum);
  Operation *first = nullptr; // from `last` on
  for (Operation *op : companions)
    if ((!last || !op->isBeforeInBlock(last)) &&
        (!first || op->isBeforeInBlock(first)))
      first = op;
  return first || companions.empty() ? first : last;
}

} // namespace ltc::compiler
