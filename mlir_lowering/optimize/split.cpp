//===- split.cpp - A reduction cut into parts -----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/split.h"

#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// A length near `wanted` that leaves nothing, if there is one.
static int64_t partLength(int64_t size, int64_t wanted) {
  for (int64_t length = wanted; 2 * length > wanted; --length)
    if (size % length == 0)
      return length;
  return wanted;
}

Split Split::ofLoop(SizeTable &table, unsigned dim, int64_t size,
                    int64_t wanted) {
  if (!isSymbolic(size)) {
    int64_t length = partLength(size, wanted);
    return {dim, length, size / length, size % length, {}};
  }
  Formula formula = table.formula(size);
  int64_t length = std::min(wanted, formula.content());
  while (formula.content() % length != 0)
    --length;
  return {dim, length, table.size(formula.dividedBy(length)), 0, {}};
}

GenericOp Splitter::run() {
  SmallVector<Value> before = llvm::to_vector(op.getDpsInits());
  if (split.rest > 0)
    before = reduceRest(before);
  SmallVector<Value> parts = makeParts();
  b.setInsertionPoint(isBlocks ? firstReader() : op);
  GenericOp sum = reduceParts(parts, before);
  op->replaceAllUsesWith(sum.getResults());
  op->erase();
  return sum;
}

GenericOp Splitter::runBehind(Operation *place) {
  b.setInsertionPointAfter(place);
  isBlocks = true;
  return run();
}

/// The first op that reads a result, where reshapes of results come to stand.
Operation *Splitter::firstReader() {
  Block &block = *op->getBlock();
  Operation *first = block.getTerminator();
  SmallVector<Operation *> reshapes, makers{op};
  while (!makers.empty())
    for (Operation *user : makers.pop_back_val()->getUsers()) {
      Operation *top = block.findAncestorOpInBlock(*user);
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(top)) {
        reshapes.push_back(top);
        makers.push_back(top);
      } else if (top->isBeforeInBlock(first)) {
        first = top;
      }
    }
  for (Operation *reshape : reshapes)
    reshape->moveBefore(first);
  return reshapes.empty() ? first : reshapes.front();
}

/// The op's own body, for other loops.
GenericOp Splitter::withLoops(ArrayRef<Value> inputs, ArrayRef<Value> inits,
                              ArrayRef<AffineMap> maps,
                              ArrayRef<utils::IteratorType> iterators) {
  auto made = GenericOp::create(b, TypeRange(ValueRange(inits)), inputs, inits,
                                maps, iterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&made.getRegion(), mapping);
  return made;
}

/// Iterations [from, from + count) of the loop that is split.
Value Splitter::slice(OpOperand &operand, int64_t from, int64_t count) {
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

SmallVector<Value> Splitter::reduceRest(ArrayRef<Value> before) {
  SmallVector<Value> inputs;
  for (OpOperand *input : op.getDpsInputOperands())
    inputs.push_back(slice(*input, split.parts * split.length, split.rest));
  GenericOp rest = withLoops(inputs, before, op.getIndexingMapsArray(),
                             op.getIteratorTypesArray());
  return llvm::to_vector(ValueRange(rest.getResults()));
}

/// A tensor of a result of each part, from which the part starts.
Value Splitter::neutral(unsigned i) {
  SmallVector<int64_t> sizes, loops = loopSizes(op);
  for (unsigned dim : split.around)
    sizes.push_back(loops[dim]);
  sizes.push_back(split.parts);
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

SmallVector<Type> Splitter::elementTypes() {
  return llvm::map_to_vector(op.getDpsInits(), [](Value init) {
    return cast<RankedTensorType>(init.getType()).getElementType();
  });
}

/// The loop over parts stands behind those around it, outermost if there are
/// none.
unsigned Splitter::partLoop() {
  unsigned place = 0;
  for (unsigned dim : split.around)
    place = std::max(place, dim + 1);
  return place;
}
AffineExpr Splitter::part() { return b.getAffineDimExpr(partLoop()); }
/// A loop of the op beside it.
AffineExpr Splitter::beside(unsigned dim) {
  return b.getAffineDimExpr(dim < partLoop() ? dim : dim + 1);
}

/// The reduction with one more loop, over parts. Where it read i, it reads
/// part * length + i.
SmallVector<Value> Splitter::makeParts() {
  MLIRContext *context = b.getContext();
  unsigned loops = op.getNumLoops();
  SmallVector<AffineExpr> all, within;
  for (unsigned dim = 0; dim < loops; ++dim)
    all.push_back(beside(dim));
  within = all;
  within[split.dim] = part() * split.length + all[split.dim];

  SmallVector<Value> inputs = llvm::to_vector(op.getDpsInputs());
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands())
    maps.push_back(op.getMatchingIndexingMap(input).replaceDimsAndSymbols(
        within, {}, loops + 1, 0));
  SmallVector<Value> starts;
  SmallVector<AffineMap> written;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    starts.push_back(neutral(starts.size()));
    SmallVector<AffineExpr> results;
    for (unsigned dim : split.around)
      results.push_back(all[dim]);
    results.push_back(part());
    for (AffineExpr result : op.getMatchingIndexingMap(&init).getResults())
      results.push_back(result.replaceDims(all));
    written.push_back(AffineMap::get(loops + 1, 0, results, context));
  }
  addLength(inputs, maps);
  llvm::append_range(maps, written);
  auto iterators = op.getIteratorTypesArray();
  for (unsigned dim : split.around)
    iterators[dim] = utils::IteratorType::parallel;
  iterators.insert(iterators.begin() + partLoop(),
                   utils::IteratorType::parallel);
  GenericOp made = withLoops(inputs, starts, maps, iterators);
  made.getBody()->insertArgument(
      inputs.size() - 1, getElementTypeOrSelf(inputs.back()), op.getLoc());
  if (isBlocks) {
    auto within = cast<AffineDimExpr>(beside(split.dim)).getPosition();
    made->setAttr(attr::kBlocks,
                  b.getDenseI64ArrayAttr(
                      {int64_t(split.around.size()) + 1, int64_t(within)}));
  }
  return llvm::to_vector(ValueRange(made.getResults()));
}

/// An operand that nobody reads and that says how long a part is.
void Splitter::addLength(SmallVector<Value> &inputs,
                         SmallVector<AffineMap> &maps) {
  inputs.push_back(tensor::EmptyOp::create(b, {split.length}, b.getI8Type()));
  maps.push_back(AffineMap::get(op.getNumLoops() + 1, 0, beside(split.dim),
                                b.getContext()));
}

/// Adds parts, outermost in `parts`, to `before`.
GenericOp Splitter::reduceParts(ArrayRef<Value> parts, ArrayRef<Value> before) {
  auto rank = cast<RankedTensorType>(parts[0].getType()).getRank();
  unsigned outer = split.around.size() + 1;
  AffineMap read = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps(parts.size(), read);
  maps.append(before.size(),
              AffineMap::get(rank, 0, read.getResults().drop_front(outer),
                             b.getContext()));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  llvm::fill(MutableArrayRef(iterators).take_front(outer),
             utils::IteratorType::reduction);
  return GenericOp::create(
      b, TypeRange(ValueRange(before)), parts, before, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder inner(loc, nested);
        linalg::YieldOp::create(
            inner, folding.merge(inner, arguments.take_back(before.size()),
                                 arguments.take_front(parts.size())));
      });
}

} // namespace ltc::compiler
