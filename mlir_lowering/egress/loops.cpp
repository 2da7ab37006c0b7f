//===- loops.cpp - linalg.generic as ops on whole tensors -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ltc::compiler {

Element Body::sorted(Value tensor, SmallVector<int64_t> loops) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, loops.size()));
  llvm::sort(order, [&](int64_t i, int64_t j) { return loops[i] < loops[j]; });
  llvm::sort(loops);
  return {d.permuted(tensor, order), std::move(loops)};
}

Value Body::aligned(const Element &element, Extents loops, bool really) {
  SmallVector<int64_t> dims, shape;
  for (int64_t loop : element.loops)
    dims.push_back(llvm::find(loops, loop) - loops.begin());
  for (int64_t loop : loops)
    shape.push_back(sizes[loop]);
  if (dims.size() == loops.size())
    return element.tensor;
  return really ? d.broadcast(element.tensor, dims, shape)
                : d.align(element.tensor, dims, shape);
}

Value Body::everywhere(const Element &element) {
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  return aligned(element, all, /*really=*/true);
}

Element Body::get(Value value) {
  if (auto known = values.find(value); known != values.end())
    return known->second;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)) &&
      !isa<ShapedType>(value.getType()))
    return values[value] = {d.splat(cast<TypedAttr>(constant), {}), {}};
  return {said.lookup(value), {}};
}

Element Body::read(Value tensor, AffineMap map) {
  SmallVector<int64_t> loops, starts, extent, shape;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    int64_t size = shapeOf(tensor)[dim];
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      loops.push_back(loop.getPosition());
      shape.push_back(size);
      starts.push_back(0);
      extent.push_back(size);
    } else { // always the same place
      starts.push_back(cast<AffineConstantExpr>(expr).getValue());
      extent.push_back(1);
    }
  }
  if (loops.size() < map.getNumResults()) {
    SmallVector<int64_t> ones(starts.size(), 1);
    tensor = d.reshape(d.slice(tensor, starts, extent, ones), shape);
  }
  return sorted(tensor, loops);
}

Element Body::load(tensor::ExtractOp op) {
  Value from = said.lookup(op.getTensor());
  SmallVector<Element> at;
  for (Value index : op.getIndices())
    at.push_back(get(index));
  SmallVector<int64_t> starts(at.size(), 0), steps(at.size(), 1);
  SmallVector<int64_t> extent(shapeOf(from)), batch, loops, picked;
  // A dimension is read whole where one index counts a loop that no other
  // index has to do with.
  auto isWhole = [&](size_t i) {
    int64_t loop = at[i].counts;
    if (loop < 0 || sizes[loop] > extent[i])
      return false;
    for (auto [j, other] : llvm::enumerate(at))
      if (j != i && llvm::is_contained(other.loops, loop))
        return false;
    return true;
  };
  SmallVector<int64_t> whole;
  for (size_t i = 0; i < at.size(); ++i) {
    if (isWhole(i)) {
      extent[i] = sizes[at[i].counts];
      whole.push_back(at[i].counts);
    } else {
      picked.push_back(int64_t(i));
      for (int64_t loop : at[i].loops)
        if (!llvm::is_contained(batch, loop))
          batch.push_back(loop);
    }
  }
  if (!llvm::equal(extent, shapeOf(from)))
    from = d.slice(from, starts, extent, steps);
  if (picked.empty())
    return sorted(from, whole);
  llvm::sort(batch);
  Tensors positions;
  for (int64_t i : picked)
    positions.push_back(aligned(at[i], batch, /*really=*/true));
  loops = batch;
  llvm::append_range(loops, whole);
  return sorted(d.gather(from, picked, positions), loops);
}

void Body::say(Operation *op) {
  d.setLoc(op->getLoc());
  Value result = op->getResult(0);
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return; // where it is used
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    int64_t loop = index.getDim();
    Type element = d.builder().getI64Type();
    values[result] = {d.iota({sizes[loop]}, 0, element), {loop}, loop};
    return;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    values[result] = load(extract);
    return;
  }
  SmallVector<Element> elements;
  SmallVector<int64_t> loops;
  for (Value operand : op->getOperands()) {
    elements.push_back(get(operand));
    for (int64_t loop : elements.back().loops)
      if (!llvm::is_contained(loops, loop))
        loops.push_back(loop);
  }
  llvm::sort(loops);
  Tensors operands;
  for (const Element &element : elements)
    operands.push_back(aligned(element, loops, /*really=*/false));
  bool isSame = isa<arith::IndexCastOp>(op);
  int64_t counts = isSame ? elements[0].counts : -1;
  values[result] = {d.pointwise(op, operands), loops, counts};
}

namespace {

/// A reduction's body, cut into what each element gives and what folds that
/// into the state.
class FoldedBody {
public:
  FoldedBody(TensorDialect &d, const Said &said, linalg::GenericOp op)
      : d(d), said(said), op(op) {}

  /// False where the body folds in another way.
  bool analyze();
  Tensors say(Body &body);

private:
  struct State {
    Value held, offered;
    Operation *fold = nullptr; ///< null: a choice
    bool isTruth = false;      ///< kept as a byte
  };
  bool analyze(unsigned result);
  bool dependsOnState(Value value);
  std::string choice();
  Value evaluate(Value value, llvm::DenseMap<Value, Value> &known);
  Value init(Value tensor);

  TensorDialect &d;
  const Said &said;
  linalg::GenericOp op;
  SmallVector<State> states;
  SmallVector<Value> roots; ///< what each state becomes
};

bool FoldedBody::dependsOnState(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def)
    return cast<BlockArgument>(value).getArgNumber() >= op.getNumDpsInputs() &&
           cast<BlockArgument>(value).getOwner() == op.getBody();
  return def->getBlock() == op.getBody() &&
         llvm::any_of(def->getOperands(),
                      [&](Value operand) { return dependsOnState(operand); });
}

bool FoldedBody::analyze(unsigned result) {
  State &state = states.emplace_back();
  state.held = op.getBody()->getArgument(op.getNumDpsInputs() + result);
  Value root = op.getBody()->getTerminator()->getOperand(result);
  auto byte = root.getDefiningOp<arith::ExtUIOp>();
  if (byte && state.held.hasOneUse() && byte.getIn().getType().isInteger(1))
    if (auto test = dyn_cast<arith::CmpIOp>(*state.held.user_begin());
        test && test.getPredicate() == arith::CmpIPredicate::ne &&
        matchPattern(test.getRhs(), m_Zero())) {
      state.isTruth = true;
      state.held = test.getResult();
      root = byte.getIn();
    }
  roots.push_back(root);
  Operation *fold = root.getDefiningOp();
  if (!fold || fold->getBlock() != op.getBody())
    return false;
  if (auto select = dyn_cast<arith::SelectOp>(fold)) {
    state.offered = select.getTrueValue();
    return select.getFalseValue() == state.held &&
           !dependsOnState(state.offered);
  }
  if (!fold->hasTrait<OpTrait::IsCommutative>() || fold->getNumOperands() != 2)
    return false;
  state.fold = fold;
  bool isFirst = fold->getOperand(0) == state.held;
  state.offered = fold->getOperand(isFirst ? 1 : 0);
  return fold->getOperand(isFirst ? 0 : 1) == state.held &&
         !dependsOnState(state.offered);
}

bool FoldedBody::analyze() {
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (!analyze(i))
      return false;
  return true;
}

/// A value of the fold, from the states and what is offered to them.
Value FoldedBody::evaluate(Value value, llvm::DenseMap<Value, Value> &known) {
  if (Value have = known.lookup(value))
    return have;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return known[value] = d.splat(cast<TypedAttr>(constant), {});
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBody())
    return known[value] = said.lookup(value);
  Tensors operands;
  for (Value operand : def->getOperands())
    operands.push_back(evaluate(operand, known));
  return known[value] = d.pointwise(def, operands);
}

/// How a value that is offered is compared with the one held.
std::string FoldedBody::choice() {
  for (Operation *user : states[0].offered.getUsers()) {
    if (user->getNumOperands() != 2 || user->getOperand(1) != states[0].held)
      continue;
    if (auto real = dyn_cast<arith::CmpFOp>(user)) {
      if (real.getPredicate() == arith::CmpFPredicate::OGT)
        return "greater";
      if (real.getPredicate() == arith::CmpFPredicate::OLT)
        return "less";
    } else if (auto whole = dyn_cast<arith::CmpIOp>(user)) {
      if (whole.getPredicate() == arith::CmpIPredicate::sgt)
        return "greater";
      if (whole.getPredicate() == arith::CmpIPredicate::slt)
        return "less";
    }
  }
  return "";
}

/// What a state starts from, as a scalar.
Value FoldedBody::init(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) {
    Value value = fill.value();
    Attribute constant;
    if (matchPattern(value, m_Constant(&constant)))
      return d.splat(cast<TypedAttr>(constant), {});
    return said.lookup(value);
  }
  DenseElementsAttr dense;
  if (matchPattern(tensor, m_Constant(&dense)) && dense.isSplat())
    return d.splat(cast<TypedAttr>(dense.getSplatValue<Attribute>()), {});
  return d.refuse("a reduction starts from many values",
                  RankedTensorType::get({}, getElementTypeOrSelf(tensor)));
}

Tensors FoldedBody::say(Body &body) {
  for (Operation &inner : op.getBody()->without_terminator())
    if (!llvm::any_of(inner.getResults(),
                      [&](Value value) { return dependsOnState(value); }))
      body.say(&inner);
  d.setLoc(op.getLoc());
  Reduction reduction;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      reduction.dims.push_back(int64_t(dim));
  Type truth = d.builder().getI1Type();
  for (auto [state, tensor] : llvm::zip_equal(states, op.getDpsInits())) {
    reduction.elements.push_back(body.everywhere(body.get(state.offered)));
    Value start = init(tensor);
    if (state.isTruth)
      start = d.leave(start, truth);
    reduction.inits.push_back(start);
    reduction.ops.push_back(
        state.fold ? state.fold->getName().getStringRef().str() : choice());
  }
  reduction.fold = [&](ValueRange left, ValueRange right) {
    llvm::DenseMap<Value, Value> known;
    for (auto [i, state] : llvm::enumerate(states)) {
      known[state.held] = left[i];
      known[state.offered] = right[i];
    }
    Tensors results;
    for (Value root : roots)
      results.push_back(evaluate(root, known));
    return results;
  };
  Tensors results = d.reduce(reduction);
  for (auto [i, state] : llvm::enumerate(states))
    if (state.isTruth)
      results[i] = d.convert(results[i], d.builder().getI8Type());
  return results;
}

} // namespace

Tensors sayGeneric(TensorDialect &d, const Said &said, linalg::GenericOp op) {
  d.setLoc(op.getLoc());
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Body body(d, said, sizes);
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value argument = op.getMatchingBlockArgument(input);
    Value from = said.lookup(input->get());
    if (argument.use_empty())
      continue;
    if (isa<RankedTensorType>(input->get().getType()))
      body.set(argument, body.read(from, op.getMatchingIndexingMap(input)));
    else
      body.set(argument, body.get(input->get()));
  }
  Tensors results;
  bool reduces = op.getNumReductionLoops() > 0;
  if (reduces) {
    FoldedBody folded(d, said, op);
    if (!folded.analyze())
      return d.refuse("a reduction that is no fold", op.getResultTypes());
    results = folded.say(body);
  } else {
    for (OpOperand &init : op.getDpsInitsMutable())
      if (Value argument = op.getMatchingBlockArgument(&init);
          !argument.use_empty())
        body.set(argument, body.read(said.lookup(init.get()),
                                     op.getMatchingIndexingMap(&init)));
    for (Operation &inner : op.getBody()->without_terminator())
      body.say(&inner);
    for (Value value : op.getBody()->getTerminator()->getOperands())
      results.push_back(body.everywhere(body.get(value)));
  }
  // Results have the kept loops in order; a map may order them otherwise.
  for (auto [result, init] :
       llvm::zip_equal(results, op.getDpsInitsMutable())) {
    SmallVector<int64_t> loops, kept;
    for (AffineExpr expr : op.getMatchingIndexingMap(&init).getResults())
      loops.push_back(cast<AffineDimExpr>(expr).getPosition());
    kept = loops;
    llvm::sort(kept);
    SmallVector<int64_t> order;
    for (int64_t loop : loops)
      order.push_back(llvm::find(kept, loop) - kept.begin());
    result = d.permuted(result, order);
  }
  return results;
}

} // namespace ltc::compiler
