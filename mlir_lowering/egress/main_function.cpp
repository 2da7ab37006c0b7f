//===- main_function.cpp - @main in another dialect -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/main_function.h"

#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/egress/loops.h"
#include "mlir_lowering/egress/whole_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

using mlir::Value;

class Writer {
public:
  Writer(TensorDialect &d) : d(d) {}

  LogicalResult run(func::FuncOp main);

private:
  void say(Operation *op);
  Tensors sayOp(Operation *op);
  Tensors sayConstant(Operation *op);
  Value saySlice(tensor::ExtractSliceOp op);
  Value sayInsert(tensor::InsertSliceOp op);
  Value sayProduct(linalg::LinalgOp op);
  Tensors sayWhole(OpOp op);
  void findJoins(Block &body);
  Type outerType(Type type, mlir::Attribute dtype);
  Value lookup(Value value) { return said.lookup(value); }

  TensorDialect &d;
  Said said;
  /// For the last of some insertions that only join tensors: the tensors.
  llvm::DenseMap<Operation *, SmallVector<Value>> joins;
  llvm::DenseMap<Operation *, int64_t> joinDims;
  llvm::DenseSet<Operation *> joined; ///< those before the last
};

SmallVector<int64_t> staticOf(ArrayRef<int64_t> values) {
  return SmallVector<int64_t>(values);
}

/// The only dimension in which part and whole differ; -1 if there are more.
int64_t joinDim(tensor::InsertSliceOp op) {
  int64_t found = -1;
  ArrayRef<int64_t> part = op.getStaticSizes();
  for (auto [dim, size] : llvm::enumerate(op.getType().getShape())) {
    if (op.getStaticStrides()[dim] != 1)
      return -1;
    if (part[dim] == size)
      continue;
    if (found >= 0)
      return -1;
    found = int64_t(dim);
  }
  return found;
}

void Writer::findJoins(Block &body) {
  for (Operation &last : llvm::reverse(body)) {
    auto op = dyn_cast<tensor::InsertSliceOp>(last);
    if (!op || joined.contains(op))
      continue;
    int64_t dim = joinDim(op);
    if (dim < 0)
      continue;
    int64_t end = op.getType().getDimSize(dim);
    SmallVector<Value> parts;
    SmallVector<Operation *> before;
    tensor::InsertSliceOp at = op;
    while (at && joinDim(at) == dim && (at == op || at->hasOneUse()) &&
           at.getSourceType().getRank() == at.getType().getRank() &&
           at.getStaticOffsets()[dim] + at.getStaticSizes()[dim] == end) {
      parts.push_back(at.getSource());
      before.push_back(at);
      end = at.getStaticOffsets()[dim];
      at = at.getDest().getDefiningOp<tensor::InsertSliceOp>();
    }
    if (end != 0)
      continue;
    joins[op] = llvm::to_vector(llvm::reverse(parts));
    joinDims[op] = dim;
    joined.insert_range(ArrayRef(before).drop_front());
  }
}

Type Writer::outerType(Type type, mlir::Attribute dtype) {
  Type element = getElementTypeOrSelf(type);
  auto shape =
      isa<RankedTensorType>(type)
          ? SmallVector<int64_t>(cast<RankedTensorType>(type).getShape())
          : SmallVector<int64_t>();
  auto named = dyn_cast_or_null<DTypeAttr>(dtype);
  if (named || !isa<IntegerType>(element))
    return RankedTensorType::get(
        shape, d.outerElement(element, named ? named.getValue() : DType::F32));
  return RankedTensorType::get(shape,
                               d.outerElement(element, *impliedDType(element)));
}

Value Writer::saySlice(tensor::ExtractSliceOp op) {
  Value part = d.slice(lookup(op.getSource()), op.getStaticOffsets(),
                       op.getStaticSizes(), op.getStaticStrides());
  return d.reshape(part, op.getType().getShape());
}

Value Writer::sayInsert(tensor::InsertSliceOp op) {
  if (auto parts = joins.find(op); parts != joins.end()) {
    Tensors tensors;
    for (Value part : parts->second)
      tensors.push_back(lookup(part));
    return d.concat(tensors, joinDims[op]);
  }
  Value part = d.reshape(lookup(op.getSource()), op.getStaticSizes());
  auto offsets = staticOf(op.getStaticOffsets());
  auto strides = staticOf(op.getStaticStrides());
  auto fill = op.getDest().getDefiningOp<linalg::FillOp>();
  bool isEmpty = op.getDest().getDefiningOp<tensor::EmptyOp>() != nullptr;
  if (!fill && !isEmpty)
    return d.insert(part, lookup(op.getDest()), offsets, strides);
  SmallVector<int64_t> high, between;
  for (auto [dim, size] : llvm::enumerate(op.getType().getShape())) {
    int64_t parts = op.getStaticSizes()[dim];
    int64_t reach = parts ? (parts - 1) * strides[dim] + 1 : 0;
    high.push_back(size - offsets[dim] - reach);
    between.push_back(strides[dim] - 1);
  }
  Value around = fill ? lookup(fill.value()) : d.zeros({}, elementOf(part));
  return d.pad(part, offsets, high, between, around);
}

/// A named product on zeros.
Value Writer::sayProduct(linalg::LinalgOp op) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  return d.matmul(lookup(op->getOperand(0)), lookup(op->getOperand(1)),
                  element);
}

Tensors Writer::sayWhole(OpOp op) {
  OpCall call(op);
  Tensors results = findWholeOp(op.getCallee())(
      d, WholeCall(call, [&](Value value) { return lookup(value); }));
  // What a result's mask leaves out has no elements.
  for (auto [result, type] : llvm::zip_equal(results, op.getResultTypes()))
    if (!result)
      result = d.zeros(cast<RankedTensorType>(type).getShape(),
                       getElementTypeOrSelf(type));
  return results;
}

Tensors Writer::sayConstant(Operation *op) {
  mlir::Attribute value;
  matchPattern(op, m_Constant(&value));
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return {d.constant(dense)};
  return {d.splat(cast<TypedAttr>(value), {})};
}

Tensors Writer::sayOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, Tensors>(op)
      .Case([&](linalg::GenericOp x) { return sayGeneric(d, said, x); })
      .Case<linalg::MatmulOp, linalg::BatchMatmulOp, linalg::MatvecOp,
            linalg::DotOp>([&](auto x) {
        return Tensors{sayProduct(cast<linalg::LinalgOp>(x.getOperation()))};
      })
      .Case([&](linalg::TransposeOp x) {
        return Tensors{d.permuted(lookup(x.getInput()), x.getPermutation())};
      })
      .Case([&](linalg::FillOp x) {
        auto type = cast<RankedTensorType>(x.getResultTypes()[0]);
        return Tensors{d.broadcast(lookup(x.value()), {}, type.getShape())};
      })
      .Case([&](tensor::EmptyOp x) {
        return Tensors{
            d.zeros(x.getType().getShape(), x.getType().getElementType())};
      })
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>([&](auto x) {
        auto type = cast<RankedTensorType>(x.getResult().getType());
        return Tensors{d.reshape(lookup(x.getSrc()), type.getShape())};
      })
      .Case([&](tensor::CastOp x) { return Tensors{lookup(x.getSource())}; })
      .Case([&](tensor::ExtractSliceOp x) { return Tensors{saySlice(x)}; })
      .Case([&](tensor::InsertSliceOp x) { return Tensors{sayInsert(x)}; })
      .Case([&](tensor::ExtractOp x) {
        Body body(d, said, {});
        body.say(x);
        return Tensors{body.get(x.getResult()).tensor};
      })
      .Case([&](OpOp x) { return sayWhole(x); })
      .Default([&](Operation *x) {
        if (x->hasTrait<OpTrait::ConstantLike>())
          return sayConstant(x);
        if (!findPointwiseRow(x->getName().getStringRef()))
          return d.refuse(d.name() + " is not told " +
                              x->getName().getStringRef(),
                          x->getResultTypes());
        Tensors operands;
        for (Value operand : x->getOperands())
          operands.push_back(lookup(operand));
        return Tensors{d.pointwise(x, operands)};
      });
}

void Writer::say(Operation *op) {
  if (joined.contains(op))
    return;
  d.setLoc(op->getLoc());
  for (auto [value, become] : llvm::zip_equal(op->getResults(), sayOp(op)))
    said[value] = become;
}

LogicalResult Writer::run(func::FuncOp main) {
  OpBuilder &b = d.builder();
  d.setLoc(main.getLoc());
  Block &body = main.getBody().front();
  SmallVector<Type> inputs, outputs;
  for (BlockArgument argument : body.getArguments())
    inputs.push_back(
        outerType(argument.getType(), main.getArgAttr(argument.getArgNumber(),
                                                      LtcDialect::kDType)));
  for (auto [i, type] : llvm::enumerate(main.getResultTypes()))
    outputs.push_back(
        outerType(type, main.getResultAttr(i, LtcDialect::kDType)));
  auto made = func::FuncOp::create(b, main.getLoc(), "main",
                                   b.getFunctionType(inputs, outputs));
  Block *entry = made.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  for (auto [from, to] :
       llvm::zip_equal(body.getArguments(), entry->getArguments()))
    said[from] = d.enter(to, getElementTypeOrSelf(from.getType()));
  findJoins(body);
  for (Operation &op : body.without_terminator()) {
    say(&op);
    if (d.isRefused())
      return failure();
  }
  d.setLoc(body.getTerminator()->getLoc());
  Tensors results;
  for (auto [value, type] :
       llvm::zip_equal(body.getTerminator()->getOperands(), outputs))
    results.push_back(d.leave(lookup(value), getElementTypeOrSelf(type)));
  func::ReturnOp::create(b, main.getLoc(), results);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*entry)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  return failure(d.isRefused());
}

} // namespace

LogicalResult sayMain(TensorDialect &d, func::FuncOp main) {
  return Writer(d).run(main);
}

} // namespace ltc::compiler
