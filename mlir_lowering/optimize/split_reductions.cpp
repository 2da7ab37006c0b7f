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
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/combiner.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/groups.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

/// Work of a part, in additions: about 10 us.
constexpr int64_t kPartWork = 64 * 1024;
/// Points for each result of a part, so that what it gives is small beside it.
constexpr int64_t kFewestPoints = 256;
/// With as many iterations all threads have work, or with one for as much work:
/// fewer do not repay a second kernel.
constexpr int64_t kEnough = 16, kLittleWork = 512 * 1024;
constexpr int64_t kColumns = 128; ///< of one iteration, about

/// Which loop is cut into how many parts of which length.
struct Split {
  unsigned dim;
  int64_t length, parts, rest; ///< `rest` iterations are in no part
};

int64_t work(GenericOp op) { return iterations(op) * pointCost(op); }

/// Points of the reduction that one part should have; 0 if it stays whole.
int64_t partPoints(GenericOp op, int64_t points) {
  int64_t results = iterations(op) / points;
  bool isRow = reductionKind(op) == kind::kRowReduce;
  int64_t parallel = isRow ? results : llvm::divideCeil(results, kColumns);
  if (parallel >= std::min(kEnough, work(op) / kLittleWork))
    return 0;
  int64_t part = kPartWork / pointCost(op);
  return std::max(kFewestPoints, isRow ? part : part / results);
}

/// A length near `wanted` that leaves nothing, if there is one.
int64_t partLength(int64_t size, int64_t wanted) {
  for (int64_t length = wanted; 2 * length > wanted; --length)
    if (size % length == 0)
      return length;
  return wanted;
}

Split splitLoop(SizeTable &table, unsigned dim, int64_t size, int64_t wanted) {
  if (!isSymbolic(size)) {
    int64_t length = partLength(size, wanted);
    return {dim, length, size / length, size % length};
  }
  Formula formula = table.formula(size);
  int64_t length = std::min(wanted, formula.content());
  while (formula.content() % length != 0)
    --length;
  return {dim, length, table.size(formula.dividedBy(length)), 0};
}

std::optional<Split> chooseSplit(GenericOp op) {
  SizeTable &table = sizeTable(op.getContext());
  SmallVector<int64_t> sizes = loopSizes(op), usual = usualLoopSizes(op);
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  int64_t points = 1;
  for (unsigned dim : reductions)
    points *= usual[dim];
  int64_t part = partPoints(op, points);
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
    Split split =
        splitLoop(table, dim, sizes[dim], std::max<int64_t>(1, part / turn));
    int64_t parts = table.hint(split.parts);
    if (parts > 1 && split.length * turn >= kFewestPoints &&
        (!best || parts > 2 * table.hint(best->parts)))
      best = split;
  }
  return best;
}

bool maySplit(GenericOp op) {
  return op.getNumReductionLoops() != 0 && !op.hasIndexSemantics() &&
         work(op) > kLittleWork && largestInput(op) &&
         !llvm::is_contained(loopSizes(op), ShapedType::kDynamic) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

class Splitter {
public:
  Splitter(GenericOp op, const Folding &folding, const Split &split)
      : op(op), folding(folding), split(split), b(op.getLoc(), op) {}

  void run() {
    SmallVector<Value> before = llvm::to_vector(op.getDpsInits());
    if (split.rest > 0)
      before = reduceRest(before);
    op->replaceAllUsesWith(reduceParts(makeParts(), before));
    op->erase();
  }

private:
  /// The op's own body, for other loops.
  GenericOp withLoops(ArrayRef<Value> inputs, ArrayRef<Value> inits,
                      ArrayRef<AffineMap> maps,
                      ArrayRef<utils::IteratorType> iterators) {
    auto made = GenericOp::create(b, TypeRange(ValueRange(inits)), inputs,
                                  inits, maps, iterators);
    IRMapping mapping;
    op.getRegion().cloneInto(&made.getRegion(), mapping);
    return made;
  }

  /// Iterations [from, from + count) of the loop that is split.
  Value slice(OpOperand &operand, int64_t from, int64_t count) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    auto place = op.getMatchingIndexingMap(&operand).getResultPosition(
        b.getAffineDimExpr(split.dim));
    if (!type || !place)
      return operand.get();
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        strides(type.getRank(), b.getIndexAttr(1)),
        sizes = sizeValues(b, b.getLoc(), sizesOf(operand.get()));
    offsets[*place] = b.getIndexAttr(from);
    sizes[*place] = b.getIndexAttr(count);
    return tensor::ExtractSliceOp::create(b, operand.get(), offsets, sizes,
                                          strides);
  }

  SmallVector<Value> reduceRest(ArrayRef<Value> before) {
    SmallVector<Value> inputs;
    for (OpOperand *input : op.getDpsInputOperands())
      inputs.push_back(slice(*input, split.parts * split.length, split.rest));
    GenericOp rest = withLoops(inputs, before, op.getIndexingMapsArray(),
                               op.getIteratorTypesArray());
    return llvm::to_vector(ValueRange(rest.getResults()));
  }

  /// A tensor of a result of each part, from which the part starts.
  Value neutral(unsigned i) {
    SmallVector<int64_t> sizes{split.parts};
    llvm::append_range(sizes, sizesOf(op.getDpsInits()[i]));
    Value start = folding.neutral(b, elementTypes())[i];
    Value empty = tensor::EmptyOp::create(b, sizeValues(b, b.getLoc(), sizes),
                                          getElementTypeOrSelf(start));
    SmallVector<utils::IteratorType> parallel(sizes.size(),
                                              utils::IteratorType::parallel);
    auto fill =
        GenericOp::create(b, empty.getType(), ValueRange(), empty,
                          b.getMultiDimIdentityMap(sizes.size()), parallel,
                          [&](OpBuilder &nested, Location loc, ValueRange) {
                            linalg::YieldOp::create(nested, loc, start);
                          });
    return fill.getResult(0);
  }

  SmallVector<Type> elementTypes() {
    return llvm::map_to_vector(op.getDpsInits(), [](Value init) {
      return cast<RankedTensorType>(init.getType()).getElementType();
    });
  }

  /// The reduction with one more loop, over parts: outermost, in the results
  /// too. Where it read i, it reads part * length + i.
  SmallVector<Value> makeParts() {
    MLIRContext *context = b.getContext();
    unsigned loops = op.getNumLoops();
    AffineExpr part = b.getAffineDimExpr(0);
    SmallVector<AffineExpr> all, within;
    for (unsigned dim = 0; dim < loops; ++dim)
      all.push_back(b.getAffineDimExpr(dim + 1));
    within = all;
    within[split.dim] = part * split.length + all[split.dim];

    SmallVector<Value> inputs = llvm::to_vector(op.getDpsInputs());
    SmallVector<AffineMap> maps;
    for (OpOperand *input : op.getDpsInputOperands())
      maps.push_back(op.getMatchingIndexingMap(input).replaceDimsAndSymbols(
          within, {}, loops + 1, 0));
    SmallVector<Value> starts;
    SmallVector<AffineMap> written;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      starts.push_back(neutral(starts.size()));
      SmallVector<AffineExpr> results{part};
      for (AffineExpr result : op.getMatchingIndexingMap(&init).getResults())
        results.push_back(result.replaceDims(all));
      written.push_back(AffineMap::get(loops + 1, 0, results, context));
    }
    addLength(inputs, maps);
    llvm::append_range(maps, written);
    SmallVector<utils::IteratorType> iterators{utils::IteratorType::parallel};
    llvm::append_range(iterators, op.getIteratorTypesArray());
    GenericOp made = withLoops(inputs, starts, maps, iterators);
    made.getBody()->insertArgument(
        inputs.size() - 1, getElementTypeOrSelf(inputs.back()), op.getLoc());
    return llvm::to_vector(ValueRange(made.getResults()));
  }

  /// An operand that nobody reads and that says how long a part is.
  void addLength(SmallVector<Value> &inputs, SmallVector<AffineMap> &maps) {
    OpOperand *largest = largestInput(op);
    Value first = slice(*largest, 0, split.length);
    AffineMap map = op.getMatchingIndexingMap(largest);
    SmallVector<AffineExpr> results;
    for (AffineExpr result : map.getResults())
      results.push_back(
          b.getAffineDimExpr(cast<AffineDimExpr>(result).getPosition() + 1));
    inputs.push_back(first);
    maps.push_back(
        AffineMap::get(op.getNumLoops() + 1, 0, results, b.getContext()));
  }

  /// What is left to do: parts, outermost in `parts`, are added to `before`.
  ResultRange reduceParts(ArrayRef<Value> parts, ArrayRef<Value> before) {
    auto rank = cast<RankedTensorType>(parts[0].getType()).getRank();
    AffineMap read = b.getMultiDimIdentityMap(rank);
    SmallVector<AffineMap> maps(parts.size(), read);
    maps.append(before.size(), read.dropResult(0));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators[0] = utils::IteratorType::reduction;
    auto sum = GenericOp::create(
        b, TypeRange(ValueRange(before)), parts, before, maps, iterators,
        [&](OpBuilder &nested, Location loc, ValueRange arguments) {
          ImplicitLocOpBuilder inner(loc, nested);
          linalg::YieldOp::create(
              inner, folding.merge(inner, arguments.take_back(before.size()),
                                   arguments.take_front(parts.size())));
        });
    return sum.getResults();
  }

  GenericOp op;
  const Folding &folding;
  const Split &split;
  ImplicitLocOpBuilder b;
};

} // namespace

void splitReductions(func::FuncOp main) {
  for (GenericOp op : llvm::to_vector(main.getOps<GenericOp>())) {
    if (!maySplit(op))
      continue;
    auto folding = Folding::of(op);
    if (!folding || folding->isChoice())
      continue;
    if (auto split = chooseSplit(op))
      Splitter(op, *folding, *split).run();
  }
}

} // namespace ltc::compiler
