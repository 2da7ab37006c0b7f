//===- group_rows.cpp - How the rows of groups meet -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/group_rows.h"

#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"

#include <numeric>

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

size_t placeOf(ArrayRef<RowInConsumer> rows, int64_t dim) {
  return llvm::find_if(
             rows, [&](const RowInConsumer &row) { return row.dim == dim; }) -
         rows.begin();
}

size_t placeIn(const Group &group, Operation *op) {
  return llvm::find(group.ops, op) - group.ops.begin();
}

bool isLargeInput(Value input, GenericOp op) {
  return isa<mlir::TensorType>(input.getType()) &&
         elementCount(input) == elementCount(largestInput(op)->get());
}

bool keepsBlocks(GenericOp op, ArrayRef<int64_t> kept) {
  auto blocks = op->getAttrOfType<DenseI64ArrayAttr>(attr::kBlocks);
  AffineMap written = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return blocks &&
         llvm::all_of(llvm::seq<unsigned>(0, blocks[0]), [&](unsigned i) {
           return llvm::is_contained(kept, written.getDimPosition(i));
         });
}

namespace {

/// The loop along an index, and how many indices one iteration takes: of
/// part * length + i, where i is reduced, `length`.
std::optional<std::pair<int64_t, int64_t>> alongIndex(AffineExpr index,
                                                      GenericOp op) {
  auto term = [](AffineExpr expr) -> std::pair<int64_t, int64_t> {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return {dim.getPosition(), 1};
    auto product = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!product || product.getKind() != AffineExprKind::Mul)
      return {-1, 0};
    return {cast<AffineDimExpr>(product.getLHS()).getPosition(),
            cast<AffineConstantExpr>(product.getRHS()).getValue()};
  };
  if (isa<AffineDimExpr>(index))
    return term(index);
  auto sum = dyn_cast<AffineBinaryOpExpr>(index);
  if (!op->hasAttr(attr::kBlocks) || !sum ||
      sum.getKind() != AffineExprKind::Add)
    return std::nullopt;
  auto iterators = op.getIteratorTypesArray();
  for (AffineExpr side : {sum.getLHS(), sum.getRHS()})
    if (auto [dim, indices] = term(side);
        dim >= 0 && iterators[dim] == utils::IteratorType::parallel)
      return std::pair(dim, indices);
  return std::nullopt;
}

bool isMember(Value value, const Group &group) {
  return value.getDefiningOp() &&
         llvm::is_contained(group.ops, value.getDefiningOp());
}

/// Notes how a consumer's indices of a tensor run along a member's.
void meet(RowsInConsumer &rows, const Group &group, size_t member,
          AffineMap ours, AffineMap theirs, GenericOp consumer) {
  for (auto [j, row] : llvm::enumerate(rows)) {
    auto position = ours.getResultPosition(
        getAffineDimExpr(group.rows[member][j], consumer.getContext()));
    auto along = position ? alongIndex(theirs.getResult(*position), consumer)
                          : std::nullopt;
    RowInConsumer met{RowInConsumer::kNone};
    if (along) {
      int64_t units = group.units[member][j];
      int64_t both = std::gcd(units, along->second);
      met = {along->first, units / both, along->second / both};
    }
    bool isNew = row.dim == RowInConsumer::kUnread;
    if (!isNew && (row.dim != met.dim || row.iterations != met.iterations ||
                   row.units != met.units))
      met = {RowInConsumer::kNone};
    row = met;
  }
}

/// The same by a large tensor that both read.
void meetBeside(RowsInConsumer &rows, const Group &group, GenericOp consumer) {
  for (OpOperand *operand : consumer.getDpsInputOperands())
    for (OpOperand &use : operand->get().getUses()) {
      auto reader = dyn_cast<GenericOp>(use.getOwner());
      if (!reader || !isLargeInput(operand->get(), consumer) ||
          !reader.isDpsInput(&use) || !llvm::is_contained(group.ops, reader))
        continue;
      return meet(rows, group, placeIn(group, reader),
                  reader.getMatchingIndexingMap(&use),
                  consumer.getMatchingIndexingMap(operand), consumer);
    }
}

} // namespace

std::optional<RowsInConsumer> rowsIn(const Group &group, GenericOp consumer) {
  RowsInConsumer rows(group.rows.back().size());
  bool isBlocks = consumer->hasAttr(attr::kBlocks), readsResults = false;
  for (OpOperand *operand : consumer.getDpsInputOperands()) {
    Value source = operand->get();
    while (auto slice = source.getDefiningOp<tensor::ExtractSliceOp>())
      source = slice.getSource();
    if (!isMember(source, group))
      continue;
    AffineMap read = consumer.getMatchingIndexingMap(operand);
    if (source != operand->get() ||
        (!isBlocks && !read.isProjectedPermutation()))
      return std::nullopt;
    auto writer = cast<GenericOp>(source.getDefiningOp());
    meet(rows, group, placeIn(group, writer),
         writer.getIndexingMapMatchingResult(cast<OpResult>(source)), read,
         consumer);
    readsResults = true;
  }
  if (isBlocks && !readsResults)
    meetBeside(rows, group, consumer);
  bool captures = false;
  consumer.getRegion().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      captures |= isMember(operand, group);
  });
  if (captures)
    return std::nullopt;
  return rows;
}

std::optional<Units> unitsOf(GenericOp consumer, ArrayRef<int64_t> kept,
                             ArrayRef<const Group *> groups) {
  Units found{SmallVector<int64_t>(kept.size(), 1)};
  SmallVector<int64_t> &units = found.iterations;
  for (const Group *group : groups) {
    RowsInConsumer rows = *rowsIn(*group, consumer);
    for (auto [row, unit] : llvm::zip_equal(kept, units))
      unit = std::lcm(unit, rows[placeOf(rows, row)].iterations);
  }
  llvm::SmallDenseSet<int64_t> blocks; // the rows of which there are any
  for (const Group *group : groups) {
    RowsInConsumer rows = *rowsIn(*group, consumer);
    for (auto [row, unit] : llvm::zip_equal(kept, units)) {
      size_t place = placeOf(rows, row);
      int64_t scale = rows[place].scaleTo(unit);
      if (unit != 1 || scale != 1)
        blocks.insert(row);
      for (const auto &own : group->units) {
        found.block = std::max(found.block, own[place] * scale);
        if (own[place] != 1 && scale != 1)
          return std::nullopt;
      }
    }
  }
  bool differ = consumer->hasAttr(attr::kBlocks) &&
                llvm::any_of(units, [](int64_t unit) { return unit != 1; });
  if (differ || blocks.size() > 1)
    return std::nullopt;
  return found;
}

} // namespace ltc::compiler
