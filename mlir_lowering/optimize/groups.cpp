//===- groups.cpp - Which ops become one kernel -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/group_rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/in_place.h"
#include "mlir_lowering/optimize/matrix_product.h"
#include "mlir_lowering/optimize/optimize.h"
#include "llvm/ADT/SetVector.h"

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
  // A loop whose result nobody reads may have no operands and yet a check.
  if (isa<GenericOp>(op))
    return false;
  return !touchesTensors(op) ||
         isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::ExtractOp, tensor::DimOp,
             arith::ConstantOp, CallOp, SizeOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

OpOperand *largestInput(GenericOp op) {
  OpOperand *largest = nullptr;
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<mlir::TensorType>(input->get().getType()) &&
        (!largest || elementCount(input->get()) > elementCount(largest->get())))
      largest = input;
  return largest;
}

/// The loop dimension that runs along the fastest dimension of the largest
/// input decides between rows and columns.
StringRef reductionKind(GenericOp op) {
  OpOperand *largest = largestInput(op);
  AffineMap map = largest ? op.getMatchingIndexingMap(largest) : AffineMap();
  auto iterators = op.getIteratorTypesArray();
  for (unsigned i = map ? map.getNumResults() : 0; i-- > 0;) {
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(i));
    if (!dim || cast<ShapedType>(largest->get().getType()).getDimSize(i) == 1)
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
      return llvm::is_contained(op.getMatchingIndexingMap(&init).getResults(),
                                expr);
    });
    if (iterator == utils::IteratorType::parallel && inAll)
      dims.push_back(dim);
  }
  return dims;
}

Value viewedTensor(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether an op reads the tensor that an insert writes to, or a view of it,
/// other than beside the part that is written.
static bool reads(Operation *op, tensor::InsertSliceOp insert) {
  Value whole = viewedTensor(insert.getDest());
  bool found = false;
  op->walk([&](Operation *inner) {
    found |= llvm::any_of(inner->getOperands(), [&](Value operand) {
      return viewedTensor(operand) == whole && !liesBeside(operand, insert);
    });
  });
  return found;
}

namespace {

// Both keep a kernel's compile time in bounds, and what repeats in a graph in
// kernels that are equal.
constexpr size_t kMostOps = 24;
constexpr size_t kMostBodyOps = 320; // ops on elements, in all loops

class Grouper {
public:
  Grouper(func::FuncOp main, bool join, const TargetFacts &facts)
      : body(main.getBody().front()), joins(join), facts(facts) {}

  SmallVector<Group> run() {
    for (Operation &op : body)
      if (!staysInMain(&op) && !op.hasAttr("ltc.private"))
        add(&op);
    llvm::erase_if(groups,
                   [](const Group &group) { return group.ops.empty(); });
    llvm::sort(groups, [](const Group &a, const Group &b) {
      return a.ops.back()->isBeforeInBlock(b.ops.back());
    });
    return std::move(groups);
  }

private:
  /// The group of this op alone, with the fills its reductions start from.
  Group alone(Operation *op) {
    Group group;
    group.kind = kind::kSerial;
    auto generic = dyn_cast<GenericOp>(op);
    SmallVector<int64_t> rows;
    if (generic && iterations(generic) != 0) // nothing to tile in an empty one
      rows = tileableDims(generic);
    if (!rows.empty())
      group.kind = generic.getNumReductionLoops() == 0
                       ? StringRef(kind::kPointwise)
                       : reductionKind(generic);
    append(group, op, rows, SmallVector<int64_t>(rows.size(), 1));
    return group;
  }

  /// Adds an op, behind the fills its reductions start from.
  void append(Group &group, Operation *op, ArrayRef<int64_t> rows,
              ArrayRef<int64_t> units) {
    appendFills(group, op, rows, units);
    group.ops.push_back(op);
    group.rows.push_back(llvm::to_vector(rows));
    group.units.push_back(llvm::to_vector(units));
  }

  void appendFills(Group &group, Operation *op, ArrayRef<int64_t> rows,
                   ArrayRef<int64_t> units) {
    auto generic = dyn_cast<GenericOp>(op);
    if (!generic)
      return;
    for (OpOperand &init : generic.getDpsInitsMutable()) {
      Operation *fill = init.get().getDefiningOp();
      if (!fill || !fill->hasAttr("ltc.private"))
        continue;
      AffineMap map = generic.getMatchingIndexingMap(&init);
      SmallVector<int64_t> fillRows;
      for (int64_t row : rows)
        fillRows.push_back(
            *map.getResultPosition(getAffineDimExpr(row, op->getContext())));
      group.ops.push_back(fill);
      group.rows.push_back(fillRows);
      group.units.push_back(llvm::to_vector(units));
    }
  }

  void add(Operation *op) {
    auto insert = dyn_cast<tensor::InsertSliceOp>(op);
    if (insert && joins && addToWriter(insert))
      return;
    Group group = alone(op);
    auto generic = dyn_cast<GenericOp>(op);
    llvm::SmallSetVector<unsigned, 4> joined;
    SmallVector<int64_t> rows = group.rows.back();
    SmallVector<unsigned> producers;
    // What a product reads is not computed anew for each of its tiles.
    if (joins && group.kind != kind::kSerial && !isProduct({op}))
      producers = producersOf(generic);
    for (unsigned producer : llvm::reverse(producers))
      if (auto kept = join(producer, generic, rows, group.kind, joined)) {
        rows = *kept;
        joined.insert(producer);
      }
    if (!joined.empty())
      group = merge(joined.getArrayRef(), generic, rows, group.kind);
    for (Operation *member : group.ops)
      groupOf[member] = groups.size();
    groups.push_back(std::move(group));
  }

  /// Lets the group that computes a part of a tensor write it in its place
  /// there, unless the group may read what it overwrites.
  bool addToWriter(tensor::InsertSliceOp insert) {
    auto found = groupOf.find(insert.getSource().getDefiningOp());
    if (found == groupOf.end() || !insert.getSource().hasOneUse())
      return false;
    Group &group = groups[found->second];
    Value whole = viewedTensor(insert.getDest());
    if (group.kind == kind::kSerial || writesPart(group) ||
        isMember(whole, found->second) ||
        llvm::any_of(
            group.ops,
            [&](Operation *member) { return reads(member, insert); }) ||
        !mayMove(found->second, insert, /*joined=*/{}))
      return false;
    group.ops.push_back(insert);
    group.rows.push_back(group.rows.back());
    group.units.push_back(group.units.back());
    groupOf[insert] = found->second;
    return true;
  }

  bool isProduct(ArrayRef<Operation *> ops) const {
    return facts.matrix_work != 0 && haveMatrixProduct(ops);
  }

  static bool writesPart(const Group &group) {
    return isa<tensor::InsertSliceOp>(group.ops.back());
  }

  /// The groups that compute what an op reads; of blocks of rows also those
  /// that read the same rows.
  SmallVector<unsigned> producersOf(GenericOp op) {
    llvm::SmallSetVector<unsigned, 4> found;
    for (Value input : op.getDpsInputs()) {
      if (Operation *def = input.getDefiningOp(); def && groupOf.contains(def))
        found.insert(groupOf[def]);
      if (!op->hasAttr(attr::kBlocks) || !isLargeInput(input, op))
        continue;
      for (Operation *user : input.getUsers())
        if (auto place = groupOf.find(user); place != groupOf.end())
          found.insert(place->second);
    }
    SmallVector<unsigned> sorted(found.begin(), found.end());
    llvm::sort(sorted);
    return sorted;
  }

  bool isMember(Value value, unsigned group) {
    Operation *def = value.getDefiningOp();
    auto found = groupOf.find(def);
    return def && found != groupOf.end() && found->second == group;
  }

  /// Whether the group can run where the consumer stands.
  bool mayMove(unsigned number, Operation *consumer,
               const llvm::SmallSetVector<unsigned, 4> &joined) {
    for (Operation *member : groups[number].ops)
      for (Operation *user : member->getUsers()) {
        Operation *top = body.findAncestorOpInBlock(*user);
        auto found = groupOf.find(top);
        bool inside =
            found != groupOf.end() &&
            (found->second == number || joined.contains(found->second));
        if (!inside && top != consumer && top->isBeforeInBlock(consumer))
          return false;
      }
    return true;
  }

  /// Whether all that joined groups read of this one is in their own tile, for
  /// each of the rows `kept`; `dims` are the group's rows in the consumer.
  bool readTileByTile(unsigned number, const RowsInConsumer &dims,
                      GenericOp consumer, ArrayRef<int64_t> kept,
                      const llvm::SmallSetVector<unsigned, 4> &joined) {
    for (Operation *member : groups[number].ops)
      for (Operation *user : member->getUsers()) {
        Operation *top = body.findAncestorOpInBlock(*user);
        auto found = groupOf.find(top);
        if (found == groupOf.end() || !joined.contains(found->second))
          continue;
        Group &group = groups[found->second];
        auto groupDims = rowsIn(group, consumer);
        auto read = rowsIn(groups[number], cast<GenericOp>(top));
        if (!read || !groupDims)
          return false;
        size_t member = placeIn(group, top);
        for (int64_t row : kept) {
          const RowInConsumer &mine = dims[placeOf(dims, row)];
          const RowInConsumer &inTop = (*read)[placeOf(dims, row)];
          size_t place = placeOf(*groupDims, row);
          const RowInConsumer &theirs = (*groupDims)[place];
          // As many of this group's iterations to one of the other, whether
          // the reader is asked or the consumer.
          if (inTop.dim != group.rows[member][place] ||
              group.units[member][place] * inTop.units * theirs.units *
                      mine.iterations !=
                  inTop.iterations * theirs.iterations * mine.units)
            return false;
        }
      }
    return true;
  }

  static int64_t extentOf(GenericOp op, ArrayRef<int64_t> dims,
                          ArrayRef<int64_t> units) {
    SmallVector<int64_t> sizes = usualLoopSizes(op);
    int64_t total = 1;
    for (auto [dim, unit] : llvm::zip_equal(dims, units))
      total *= sizes[dim] / unit;
    return total;
  }

  /// The rows that the group and the consumer have in common, if its kind of
  /// kernel can be computed along them.
  std::optional<SmallVector<int64_t>>
  commonRows(const Group &group, const RowsInConsumer &dims, GenericOp consumer,
             ArrayRef<int64_t> rows, StringRef consumerKind) {
    SmallVector<int64_t> kept;
    for (int64_t row : rows)
      if (placeOf(dims, row) != dims.size())
        kept.push_back(row);
    bool reduces = consumer.getNumReductionLoops() != 0;
    bool isBlocks = keepsBlocks(consumer, kept);
    bool all = kept.size() == dims.size();
    // Behind a product, a tile of its result is computed further on.
    if (isProduct(group.ops) &&
        (reduces || !all || consumer.getNumLoops() != kept.size()))
      return std::nullopt;
    if (kept.empty() || (consumerKind == kind::kColumnReduce && !isBlocks) ||
        (group.kind == kind::kPointwise && !reduces && !all) ||
        (group.kind == kind::kColumnReduce &&
         (!all || (!isBlocks && consumer.getNumLoops() != kept.size()))))
      return std::nullopt;
    return kept;
  }

  /// The rows left when the consumer joins the group, if that pays.
  std::optional<SmallVector<int64_t>>
  join(unsigned number, GenericOp consumer, ArrayRef<int64_t> rows,
       StringRef consumerKind,
       const llvm::SmallSetVector<unsigned, 4> &joined) {
    Group &group = groups[number];
    if (group.kind == kind::kSerial || writesPart(group) ||
        !mayMove(number, consumer, joined) ||
        wouldHoldMuch(group.ops, consumer, facts))
      return std::nullopt;
    auto dims = rowsIn(group, consumer);
    if (!dims)
      return std::nullopt;
    auto common = commonRows(group, *dims, consumer, rows, consumerKind);
    if (!common || !readTileByTile(number, *dims, consumer, *common, joined))
      return std::nullopt;
    SmallVector<int64_t> &kept = *common;

    // All that the joined groups keep of one row has to fit on a stack.
    SmallVector<const Group *> together{&group};
    for (unsigned other : joined) {
      if (isProduct(group.ops) && isProduct(groups[other].ops))
        return std::nullopt; // one has the memory of a block
      together.push_back(&groups[other]);
    }
    auto units = unitsOf(consumer, kept, together);
    if (!units)
      return std::nullopt;
    int64_t count = extentOf(consumer, kept, units->iterations);
    int64_t tiles = count * units->block; // a loop goes through a block's rows
    int64_t bytes = rowBytes(consumer, tiles);
    int64_t work = iterations(consumer);
    size_t ops = group.ops.size();
    size_t bodyOps = consumer.getBody()->getOperations().size();
    auto tally = [&](const Group &g) {
      for (Operation *member : g.ops)
        if (auto generic = dyn_cast<GenericOp>(member)) {
          bodyOps += generic.getBody()->getOperations().size();
          bytes += rowBytes(generic, tiles);
          work += iterations(generic) * (1 + pointCost(generic));
        }
    };
    tally(group);
    for (unsigned other : joined) {
      if ((groups[other].kind == kind::kColumnReduce) !=
          (group.kind == kind::kColumnReduce))
        return std::nullopt;
      tally(groups[other]);
      ops += groups[other].ops.size();
    }
    int64_t enough = isProduct(group.ops)           ? 1 // it has its tiles
                     : work > facts.group_work      ? facts.enough_parts
                     : work > facts.group_work / 16 ? facts.enough_parts / 4
                                                    : 1;
    if (group.kind != kind::kColumnReduce && bytes > facts.row_bytes)
      return std::nullopt;
    if (count < enough || ops > kMostOps || bodyOps > kMostBodyOps)
      return std::nullopt;
    return kept;
  }

  static int64_t rowBytes(GenericOp op, int64_t rows) {
    int64_t bytes = 0;
    for (Value result : op->getResults())
      bytes += byteCount(result) / std::max<int64_t>(1, rows);
    return bytes;
  }

  Group merge(ArrayRef<unsigned> parts, GenericOp consumer,
              ArrayRef<int64_t> rows, StringRef consumerKind) {
    Group merged;
    merged.kind = consumerKind;
    SmallVector<const Group *> all;
    for (unsigned number : parts)
      all.push_back(&groups[number]);
    SmallVector<int64_t> units = unitsOf(consumer, rows, all)->iterations;
    for (unsigned number : parts) {
      Group &part = groups[number];
      RowsInConsumer dims = *rowsIn(part, consumer);
      for (auto [op, partRows, partUnits] :
           llvm::zip_equal(part.ops, part.rows, part.units)) {
        SmallVector<int64_t> kept, scaled;
        for (auto [row, unit] : llvm::zip_equal(rows, units)) {
          size_t place = placeOf(dims, row);
          kept.push_back(partRows[place]);
          scaled.push_back(partUnits[place] * dims[place].scaleTo(unit));
        }
        merged.ops.push_back(op);
        merged.rows.push_back(kept);
        merged.units.push_back(scaled);
      }
      if (part.kind != kind::kPointwise)
        merged.kind = part.kind;
    }
    append(merged, consumer, rows, units);
    for (unsigned number : parts)
      groups[number] = Group();
    sortByPosition(merged);
    return merged;
  }

  static void sortByPosition(Group &group) {
    auto order = llvm::to_vector(llvm::seq<size_t>(0, group.ops.size()));
    llvm::sort(order, [&](size_t a, size_t b) {
      return group.ops[a]->isBeforeInBlock(group.ops[b]);
    });
    Group sorted;
    sorted.kind = group.kind;
    for (size_t i : order) {
      sorted.ops.push_back(group.ops[i]);
      sorted.rows.push_back(group.rows[i]);
      sorted.units.push_back(group.units[i]);
    }
    group = std::move(sorted);
  }

  Block &body;
  const bool joins;
  const TargetFacts &facts;
  SmallVector<Group> groups;
  llvm::DenseMap<Operation *, unsigned> groupOf;
};

} // namespace

SmallVector<Group> findGroups(func::FuncOp main, bool join,
                              const TargetFacts &facts) {
  return Grouper(main, join, facts).run();
}

} // namespace ltc::compiler
