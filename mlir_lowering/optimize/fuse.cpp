//===- fuse.cpp - Elementwise fusion ----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk in program order: each linalg.generic takes in the elementwise
// producers of its operands where that saves memory traffic. A producer with
// other users is either replayed (cheap, and then perhaps never stored) or
// becomes a further result of its first consumer, as in an optimizer's update.
// Where a consumer reads few elements of a producer by index, as a loss reads
// one of each row, it computes them; of a row that is zero but for one element,
// so does its sum.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/groups.h"
#include "mlir_lowering/optimize/matrix_product.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/optimize/sum_one_hot.h"
#include "mlir_lowering/rewrite.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

constexpr int64_t kLargestBody = 160; // ops; keeps compile time linear
constexpr size_t kMostOperands = 24;

enum class Choice { No, Absorb, Replay, Share };

bool isAllParallel(GenericOp op) {
  return op.getNumParallelLoops() == op.getNumLoops();
}

/// Tensors read that are as large as the iteration space.
unsigned largeInputs(GenericOp op) {
  int64_t points = iterations(op);
  return llvm::count_if(op.getDpsInputs(), [&](Value input) {
    return 2 * elementCount(input) > points;
  });
}

class Fuser {
public:
  Fuser(func::FuncOp function, const TargetFacts &facts)
      : function(function), facts(facts), rewriter(function.getContext()) {}

  /// With `numbers`, only ops on tensors of no dimensions.
  void run(bool numbers = false) {
    for (Operation &op : function.getBody().front())
      placeOf.try_emplace(&op, placeOf.size());
    // What gets erased was visited before: producers stand in front.
    for (GenericOp op : llvm::to_vector(function.getOps<GenericOp>())) {
      if (numbers && op.getNumLoops() != 0)
        continue;
      if (GenericOp element = sumOneHot(rewriter, op))
        op = replace(op, element);
      while (GenericOp fused = absorbOne(op))
        op = fused;
      replayReads(op);
    }
  }

private:
  /// Whether every user of the producer's results but `consumer` is behind it.
  /// A load in the consumer's body is none: it may want any element of the
  /// result.
  bool othersFollow(GenericOp producer, GenericOp consumer) {
    return llvm::all_of(producer->getUsers(), [&](Operation *user) {
      Operation *top = function.getBody().front().findAncestorOpInBlock(*user);
      return user == consumer || placeOf.at(consumer) < placeOf.lookup(top);
    });
  }

  /// Whether a product of matrices would be none with this producer in it. A
  /// copy, as of a transpose, is read where it comes from.
  bool mustStayApart(GenericOp producer, GenericOp consumer) {
    if (facts.matrix_work == 0 || !MatrixProduct::of(consumer))
      return false;
    auto yield = cast<linalg::YieldOp>(producer.getBody()->getTerminator());
    AffineMap map = producer.getIndexingMapsArray()[0];
    return producer.getNumDpsInputs() != 1 ||
           yield.getOperand(0) != producer.getRegionInputArgs()[0] ||
           !map.isProjectedPermutation();
  }

  Choice choose(OpOperand &operand, GenericOp producer, GenericOp consumer) {
    if (!linalg::areElementwiseOpsFusable(&operand) ||
        mustStayApart(producer, consumer) ||
        producer->getBlock() != consumer->getBlock())
      return Choice::No;
    size_t bodies = producer.getBody()->getOperations().size() +
                    consumer.getBody()->getOperations().size();
    if (bodies > kLargestBody ||
        producer->getNumOperands() + consumer->getNumOperands() > kMostOperands)
      return Choice::No;

    int64_t cost = pointCost(producer);
    int64_t points = iterations(producer);
    bool replays = iterations(consumer) > points;
    bool grows = largeInputs(producer) == 0; // a fill, a broadcast, an iota
    bool alone = llvm::all_of(producer->getUsers(), [&](Operation *user) {
      return user == consumer;
    });
    if (alone)
      return (!replays || cost <= facts.replay_cost) &&
                     !wouldHoldMuch(producer.getOperation(), consumer, facts)
                 ? Choice::Absorb
                 : Choice::No;
    if (grows && vectorPointCost(producer) <= facts.replay_cost)
      return Choice::Replay;
    bool neverStored =
        llvm::all_of(producer->getUsers(), llvm::IsaPred<GenericOp>);
    if (neverStored && cost <= facts.replay_cost && largeInputs(producer) <= 1)
      return Choice::Replay;
    AffineMap map = consumer.getMatchingIndexingMap(&operand);
    if (!replays && isAllParallel(consumer) && map.isPermutation() &&
        othersFollow(producer, consumer))
      return Choice::Share;
    return Choice::No;
  }

  GenericOp absorbOne(GenericOp consumer) {
    for (OpOperand *operand : consumer.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<GenericOp>();
      if (!producer)
        continue;
      Choice choice = choose(*operand, producer, consumer);
      if (choice == Choice::No)
        continue;
      rewriter.setInsertionPoint(consumer);
      FailureOr<linalg::ElementwiseOpFusionResult> fused =
          linalg::fuseElementwiseOps(rewriter, operand);
      if (failed(fused))
        continue;
      for (auto [old, replacement] : fused->replacements) {
        if (old.getDefiningOp() == producer && choice == Choice::Replay)
          continue;
        // The fused op may read the producer through another operand still.
        rewriter.replaceAllUsesExcept(old, replacement, fused->fusedOp);
      }
      placeOf[fused->fusedOp] = placeOf.at(consumer);
      erase(consumer);
      if (producer->use_empty())
        erase(producer);
      return cast<GenericOp>(fused->fusedOp);
    }
    return {};
  }

  /// Whether the consumer may compute the elements that it reads by index, so
  /// that perhaps nobody stores them.
  bool mayReplayReads(GenericOp producer, GenericOp consumer) {
    constexpr int64_t few = 8; // elements of the producer to one that is read
    return producer->getNumResults() == 1 && isAllParallel(producer) &&
           producer->getBlock() == consumer->getBlock() &&
           few * iterations(consumer) <= iterations(producer) &&
           largeInputs(producer) <= 1 &&
           pointCost(producer) <= facts.replay_cost &&
           llvm::all_of(producer->getOpOperands(),
                        [&](OpOperand &operand) {
                          AffineMap map =
                              producer.getMatchingIndexingMap(&operand);
                          return producer.isDpsInit(&operand)
                                     ? map.isIdentity()
                                     : map.isProjectedPermutation();
                        }) &&
           producer.getRegionOutputArgs().front().use_empty() &&
           llvm::all_of(producer.getBody()->without_terminator(),
                        [](Operation &op) {
                          return op.getNumRegions() == 0 && isPure(&op) &&
                                 !isa<linalg::IndexOp>(op);
                        }) &&
           llvm::all_of(producer->getUsers(), [&](Operation *user) {
             return isa<GenericOp, tensor::ExtractOp>(user);
           });
  }

  void replayReads(GenericOp consumer) {
    SmallVector<tensor::ExtractOp> reads;
    consumer.walk([&](tensor::ExtractOp read) { reads.push_back(read); });
    while (!reads.empty()) {
      tensor::ExtractOp read = reads.pop_back_val();
      auto producer = read.getTensor().getDefiningOp<GenericOp>();
      if (!producer || !mayReplayReads(producer, consumer))
        continue;
      rewriter.setInsertionPoint(read);
      IRMapping map;
      for (OpOperand *input : producer.getDpsInputOperands()) {
        Value value = input->get();
        if (isa<RankedTensorType>(value.getType())) {
          SmallVector<Value> at;
          for (AffineExpr dim :
               producer.getMatchingIndexingMap(input).getResults())
            at.push_back(
                read.getIndices()[cast<AffineDimExpr>(dim).getPosition()]);
          reads.push_back(
              tensor::ExtractOp::create(rewriter, read.getLoc(), value, at));
          value = reads.back();
        }
        map.map(producer.getMatchingBlockArgument(input), value);
      }
      for (Operation &op : producer.getBody()->without_terminator())
        rewriter.clone(op, map);
      rewriter.replaceOp(
          read, map.lookupOrDefault(
                    producer.getBody()->getTerminator()->getOperand(0)));
      if (producer->use_empty())
        erase(producer);
    }
  }

  /// Puts the sum of one-hot rows in the place of a loop over them.
  GenericOp replace(GenericOp sum, GenericOp element) {
    auto rows = sum.getDpsInputs().front().getDefiningOp<GenericOp>();
    placeOf[element] = placeOf.at(sum);
    rewriter.replaceAllUsesWith(sum.getResults(), element.getResults());
    erase(sum);
    if (rows->use_empty())
      erase(rows);
    return element;
  }

  void erase(GenericOp op) {
    placeOf.erase(op);
    rewriter.eraseOp(op);
  }

  func::FuncOp function;
  const TargetFacts &facts;
  IRRewriter rewriter;
  /// Where ops stand in the function. isBeforeInBlock() would number a block
  /// anew at every few insertions, which makes a long one quadratic.
  llvm::DenseMap<Operation *, size_t> placeOf;
};

/// What is written into a part of a tensor that is written back to where it was
/// is written into the tensor: x[a:b, c:d] = y is recorded so.
struct WriteThroughPart : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertSliceOp outer,
                                PatternRewriter &rewriter) const override {
    auto inner = outer.getSource().getDefiningOp<tensor::InsertSliceOp>();
    if (!inner || !inner->hasOneUse())
      return failure();
    auto part = inner.getDest().getDefiningOp<tensor::ExtractSliceOp>();
    int64_t rank = outer.getDestType().getRank();
    if (!part || part.getSource() != outer.getDest() ||
        inner.getSourceType().getRank() != rank ||
        inner.getDestType().getRank() != rank || !isSamePlace(part, outer))
      return failure();
    SmallVector<OpFoldResult> offsets, strides;
    for (int64_t dim = 0; dim < rank; ++dim) {
      std::array<int64_t, 4> place = {
          outer.getStaticOffset(dim), outer.getStaticStride(dim),
          inner.getStaticOffset(dim), inner.getStaticStride(dim)};
      if (llvm::any_of(place, ShapedType::isDynamic))
        return failure();
      offsets.push_back(rewriter.getIndexAttr(place[0] + place[1] * place[2]));
      strides.push_back(rewriter.getIndexAttr(place[1] * place[3]));
    }
    rewriter.replaceOpWithNewOp<tensor::InsertSliceOp>(
        outer, inner.getSource(), outer.getDest(), offsets,
        inner.getMixedSizes(), strides);
    return success();
  }

  static bool isSamePlace(tensor::ExtractSliceOp part,
                          tensor::InsertSliceOp whole) {
    auto same = isEqualConstantIntOrValueArray;
    return same(part.getMixedOffsets(), whole.getMixedOffsets()) &&
           same(part.getMixedSizes(), whole.getMixedSizes()) &&
           same(part.getMixedStrides(), whole.getMixedStrides());
  }
};

/// x[:, i] is recorded as a slice whose dimension of one element is dropped. As
/// one slice, it is read where it is: a reshape wants a copy. A copy is better
/// where no elements lie side by side; and MLIR does not find the dimension
/// again among several that a step has changed the strides of.
struct DropSlicedDims : OpRewritePattern<tensor::CollapseShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::CollapseShapeOp collapse,
                                PatternRewriter &rewriter) const override {
    auto slice = collapse.getSrc().getDefiningOp<tensor::ExtractSliceOp>();
    RankedTensorType type = collapse.getResultType();
    if (!slice || !slice.getSourceType().hasStaticShape() ||
        !llvm::all_of(slice.getStaticStrides(),
                      [](int64_t stride) { return stride == 1; }) ||
        isRankReducedType(slice.getType(), type) !=
            SliceVerificationResult::Success ||
        type.getRank() == 0 || type.getShape().back() == 1 ||
        type.getShape().back() != slice.getType().getShape().back())
      return failure();
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        collapse, type, slice.getSource(), slice.getMixedOffsets(),
        slice.getMixedSizes(), slice.getMixedStrides());
    return success();
  }
};

/// A sum along columns reads what a loop computed as that loop wrote it, so
/// that it can be part of it: not with its rows merged, as a bias's gradient
/// is.
bool isSumOfReshaped(OpOperand *operand, const TargetFacts &facts) {
  auto sum = dyn_cast<GenericOp>(operand->getOwner());
  if (sum && facts.matrix_work != 0 && MatrixProduct::of(sum))
    return false;
  auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
  return sum && collapse && sum.getNumReductionLoops() != 0 &&
         collapse.getSrcType().hasStaticShape() &&
         collapse.getSrc().getDefiningOp<GenericOp>() &&
         reductionKind(sum) == kind::kColumnReduce;
}

LogicalResult simplify(func::FuncOp function, bool generalize,
                       const TargetFacts &facts) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  if (generalize) {
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    linalg::populateDecomposePadPatterns(patterns);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
  }
  tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
  patterns.add<DropSlicedDims, WriteThroughPart>(context);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  linalg::populateInlineConstantOperandsPatterns(patterns);
  if (!generalize)
    linalg::populateFoldReshapeOpsByExpansionPatterns(
        patterns,
        [&](OpOperand *operand) { return isSumOfReshaped(operand, facts); });
  GenericOp::getCanonicalizationPatterns(patterns, context);
  for (StringRef name : {"tensor", "arith"})
    context->getOrLoadDialect(name)->getCanonicalizationPatterns(patterns);
  tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CastOp::getCanonicalizationPatterns(patterns, context);
  return applyPatternsGreedily(function, std::move(patterns),
                               rewriteConfig().setUseTopDownTraversal());
}

} // namespace

LogicalResult fuseElementwise(func::FuncOp main,
                              const OptimizeOptions &options) {
  const TargetFacts &facts = options.tuning.facts;
  // Before a number becomes a load in the bodies that read it.
  if (options.optimizations.fuse)
    Fuser(main, facts).run(/*numbers=*/true);
  if (failed(simplify(main, /*generalize=*/true, facts)))
    return main.emitError("simplification did not converge");
  if (options.optimizations.fuse) {
    Fuser(main, facts).run();
    if (distributeOverParts(main, facts))
      Fuser(main, facts).run();
  }
  if (failed(simplify(main, /*generalize=*/false, facts)))
    return main.emitError("simplification did not converge");
  return success();
}

} // namespace ltc::compiler
