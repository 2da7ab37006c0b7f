//===- lower.cpp - ltc.op to linalg and library calls -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/lower/lower.h"

#include "ltc/op_facts.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/node_location.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/lower/accumulate.h"
#include "mlir_lowering/lower/foreach.h"
#include "mlir_lowering/lower/product.h"
#include "mlir_lowering/lower/scatter.h"
#include "mlir_lowering/lower/user_lowering.h"
#include "mlir_lowering/target/tuning.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ltc::compiler {

/// Follows an operand through transposes; `order` tells how the call reads it.
static mlir::Value foldTransposes(mlir::Value operand,
                                  SmallVectorImpl<int64_t> &order) {
  while (auto transpose = operand.getDefiningOp<linalg::TransposeOp>()) {
    ArrayRef<int64_t> inner = transpose.getPermutation();
    if (order.empty())
      order.assign(inner.begin(), inner.end());
    else
      for (int64_t &dim : order)
        dim = inner[dim];
    operand = transpose.getInput();
  }
  if (llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    order.clear();
  return operand;
}

/// Whether the call may read an operand in this order.
static bool mayRead(OpFacts callee, ArrayRef<int64_t> order) {
  return !callee.has(OpFact::DenseRows) ||
         order.back() == int64_t(order.size()) - 1;
}

static FailureOr<SmallVector<mlir::Value>> lowerToCall(ImplicitLocOpBuilder &b,
                                                       OpOp op) {
  SmallVector<mlir::Value> inputs, outs;
  SmallVector<mlir::Attribute> permutations;
  bool permutes = false;
  OpFacts facts = factsOf(op.getCallee());
  bool readsViews = facts.has(OpFact::ReadsStrided);
  for (mlir::Value input : op.getInputs()) {
    SmallVector<int64_t> order;
    inputs.push_back(readsViews ? foldTransposes(input, order) : input);
    if (!order.empty() && !mayRead(facts, order)) {
      inputs.back() = input;
      order.clear();
    }
    permutations.push_back(b.getDenseI64ArrayAttr(order));
    permutes |= !order.empty();
  }
  for (mlir::Value result : op.getResults()) {
    auto tensor = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> sizes = sizesOf(result);
    if (llvm::any_of(sizes, ShapedType::isDynamic))
      return op.emitError() << op.getCallee()
                            << " is a library call, and the size of its result "
                            << tensor << " is not known";
    outs.push_back(tensor::EmptyOp::create(b, sizeValues(b, b.getLoc(), sizes),
                                           tensor.getElementType()));
  }
  auto call = CallOp::create(
      b, op.getResultTypes(), op.getCalleeAttr(), op.getNamesAttr(),
      op.getValuesAttr(), op.getOperandDtypesAttr(), op.getResultDtypesAttr(),
      op.getNodeAttr(), permutes ? b.getArrayAttr(permutations) : ArrayAttr(),
      inputs, outs);
  return SmallVector<mlir::Value>(call.getResults());
}

/// Checks a row's result against the recorded type.
static FailureOr<mlir::Value> fitResult(ImplicitLocOpBuilder &b, OpOp op,
                                        Value value, ResultType wanted) {
  Type type = value.ir().getType();
  if (value.dtype() != wanted.dtype)
    return op.emitError() << "the row of " << op.getCallee() << " gives "
                          << StringRef(name(value.dtype())) << ", recorded was "
                          << StringRef(name(wanted.dtype));
  bool isStatic = !hasSymbolicSize(value.ir()) && wanted.type.hasStaticShape();
  if (!isStatic && value.sizes() != wanted.sizes)
    return op.emitError() << "not for dynamic sizes: the row of "
                          << op.getCallee()
                          << " gives other sizes than were recorded";
  if (type == wanted.type)
    return value.ir();
  if (!tensor::CastOp::areCastCompatible(type, wanted.type))
    return op.emitError() << "the row of " << op.getCallee() << " gives "
                          << type << ", recorded was " << wanted.type;
  return mlir::Value(tensor::CastOp::create(b, wanted.type, value.ir()));
}

FailureOr<SmallVector<mlir::Value>> lowerByRow(ImplicitLocOpBuilder &b, OpOp op,
                                               const Products &products,
                                               const OpTable *further) {
  if (!userLowering(op).empty())
    return inlineUserLowering(b, op);
  const OpTable &table = OpTable::get();
  OpCall call(op);
  Emit emit(b, call.site);
  Values values;
  if (const Row *row = table.match(call))
    values = row->lower(emit, call);
  else if (const Row *more = further ? further->match(call) : nullptr)
    values = more->lower(emit, call);
  else if (Value product = lowerProduct(emit, call, products))
    values = {product};
  else
    for (const ForeachItem &item : splitForeach(call, table))
      llvm::append_range(values, item.row->lower(emit, item.call));
  SmallVector<mlir::Value> results;
  if (emit.isRefused())
    return failure();
  if (values.empty())
    return results;
  if (values.size() != call.resultCount())
    return op.emitError() << "the row of " << op.getCallee() << " gives "
                          << values.size() << " results, recorded were "
                          << call.resultCount();
  for (auto [value, wanted] : llvm::zip_equal(values, call.results)) {
    FailureOr<mlir::Value> result = fitResult(b, op, value, wanted);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return results;
}

static FailureOr<SmallVector<mlir::Value>>
lowerOp(ImplicitLocOpBuilder &b, OpOp op, const Optimizations &optimizations,
        OwnLoops own) {
  if (!optimizations.loops && userLowering(op).empty())
    return lowerToCall(b, op);
  auto results = lowerByRow(b, op, own.products);
  if (failed(results) || !results->empty())
    return results;
  if (own.scatters) {
    OpCall call(op);
    Emit emit(b, call.site);
    if (Value written = lowerScatter(emit, call))
      return SmallVector<mlir::Value>{written.ir()};
  }
  return lowerToCall(b, op);
}

OwnLoops OwnLoops::of(const Tuning &tuning) {
  // Threads that share an iteration can add in memory side by side.
  bool haveThreads = tuning.schedule(kind::kPointwise).threads > 1;
  const TargetFacts &facts = tuning.facts;
  return {{facts.product_work, /*areNamed=*/false, facts.matrix_work,
           facts.matrix_rows},
          haveThreads};
}

void eraseDead(Operation *root) {
  // Reversed, what is inside an op must come before it.
  SmallVector<Operation *> all;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { all.push_back(op); });
  IRRewriter rewriter(root->getContext());
  for (Operation *op : llvm::reverse(all))
    if (op != root && isOpTriviallyDead(op))
      rewriter.eraseOp(op);
}

LogicalResult lowerOps(Operation *root, const Optimizations &optimizations,
                       OwnLoops own) {
  readHints(root);
  eraseDead(root);
  if (optimizations.accumulate)
    accumulateProducts(root);
  SmallVector<OpOp> ops;
  root->walk([&](OpOp op) { ops.push_back(op); });
  for (OpOp op : ops) {
    std::optional<int64_t> node = op.getNode();
    ImplicitLocOpBuilder b(node ? atNode(op.getLoc(), *node) : op.getLoc(), op);
    auto results = lowerOp(b, op, optimizations, own);
    if (failed(results))
      return failure();
    op->replaceAllUsesWith(*results);
    op->erase();
  }
  eraseDead(root);
  // Those no call has folded: as generic ops they fuse.
  SmallVector<linalg::TransposeOp> transposes;
  root->walk([&](linalg::TransposeOp op) { transposes.push_back(op); });
  IRRewriter rewriter(root->getContext());
  for (linalg::TransposeOp op : transposes) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return failure();
  }
  return success();
}

namespace {
struct LowerPass : PassWrapper<LowerPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPass)
  LowerPass(const Optimizations &optimizations, OwnLoops own)
      : optimizations(optimizations), own(own) {}

  StringRef getArgument() const override { return "ltc-lower"; }
  StringRef getDescription() const override {
    return "Lower ltc.op to linalg and library calls";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registerLoweredDialects(registry);
  }
  void runOnOperation() override {
    if (failed(lowerOps(getOperation(), optimizations, own)))
      signalPassFailure();
  }

  const Optimizations optimizations;
  const OwnLoops own;
};
} // namespace

void registerLowerPass(const Optimizations &optimizations, OwnLoops own) {
  registerPass([=] { return std::make_unique<LowerPass>(optimizations, own); });
}

void registerLoweredDialects(DialectRegistry &registry) {
  registerLtcDialect(registry);
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, tensor::TensorDialect>();
}

} // namespace ltc::compiler
