//===- vector_body.cpp - A linalg body over vectors -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/vector_body.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

static bool isLaneType(Type type) {
  return type.isIndex() || isa<FloatType>(type) ||
         (type.isInteger() &&
          llvm::isPowerOf2_32(type.getIntOrFloatBitWidth()));
}

/// Memory that can be read in lanes: bytes and more, each in its own place.
static bool isMemoryType(Type type) {
  return isLaneType(type) && !type.isIndex() &&
         type.getIntOrFloatBitWidth() >= 8;
}

static Value constantOf(ImplicitLocOpBuilder &b, VectorType type,
                        int64_t value) {
  Type element = type.getElementType();
  Attribute one = isa<FloatType>(element)
                      ? Attribute(b.getFloatAttr(element, double(value)))
                      : Attribute(b.getIntegerAttr(element, value));
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, one));
}

/// 0, stride, 2 * stride, ... as indices.
static Value steps(ImplicitLocOpBuilder &b, int64_t lanes, int64_t stride) {
  auto type = VectorType::get({lanes}, b.getIndexType());
  SmallVector<Attribute> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(b.getIndexAttr(lane * stride));
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, values));
}

static Value maskOrAll(ImplicitLocOpBuilder &b, Value mask, int64_t lanes) {
  return mask ? mask
              : constantOf(b, VectorType::get({lanes}, b.getI1Type()), 1);
}

static Value reverse(ImplicitLocOpBuilder &b, Value vector, int64_t lanes) {
  auto order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, lanes)));
  return vector::ShuffleOp::create(b, vector, vector, order);
}

/// Every `stride`-th element, out of as many vectors side by side. The last
/// vector ends at the last of these elements: nothing behind it is read.
static Value loadSpread(ImplicitLocOpBuilder &b, Value base,
                        ValueRange position, int64_t stride, int64_t lanes) {
  auto type = cast<MemRefType>(base.getType());
  auto vector = VectorType::get({lanes}, type.getElementType());
  Value all;
  for (int64_t part = 0; part < stride; ++part) {
    int64_t first = std::min(part * lanes, (lanes - 1) * (stride - 1));
    SmallVector<Value> at = llvm::to_vector(position);
    at.back() = arith::AddIOp::create(b, at.back(),
                                      arith::ConstantIndexOp::create(b, first));
    Value next = vector::LoadOp::create(b, vector, base, at);
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t place = lane * stride - first;
      from.push_back(place >= 0 && place < lanes ? lanes + place : lane);
    }
    all = vector::ShuffleOp::create(b, all ? all : next, next, from);
  }
  return all;
}

Value loadVector(ImplicitLocOpBuilder &b, Value base, ValueRange position,
                 int64_t stride, int64_t lanes, Value mask) {
  constexpr int64_t mostVectors = 8;
  Type element = cast<MemRefType>(base.getType()).getElementType();
  auto type = VectorType::get({lanes}, element);
  if (!mask && stride > 1 && stride <= mostVectors)
    return loadSpread(b, base, position, stride, lanes);
  if (stride == -1) {
    SmallVector<Value> at = llvm::to_vector(position);
    at.back() = arith::SubIOp::create(
        b, at.back(), arith::ConstantIndexOp::create(b, lanes - 1));
    Value turned = mask ? reverse(b, mask, lanes) : mask;
    return reverse(b, loadVector(b, base, at, 1, lanes, turned), lanes);
  }
  // Lanes that are masked off compute with 1: no trap, no slow denormals.
  if (stride != 1)
    return vector::GatherOp::create(
        b, type, base, position, steps(b, lanes, stride),
        maskOrAll(b, mask, lanes), constantOf(b, type, 1));
  if (mask)
    return vector::MaskedLoadOp::create(b, type, base, position, mask,
                                        constantOf(b, type, 1));
  return vector::LoadOp::create(b, type, base, position);
}

void storeVector(ImplicitLocOpBuilder &b, Value vector, Value base,
                 Value position, int64_t stride, Value mask) {
  auto lanes = cast<VectorType>(vector.getType()).getNumElements();
  if (stride != 1)
    vector::ScatterOp::create(b, /*resultType=*/Type(), base, position,
                              steps(b, lanes, stride),
                              maskOrAll(b, mask, lanes), vector);
  else if (mask)
    vector::MaskedStoreOp::create(b, base, position, mask, vector);
  else
    vector::StoreOp::create(b, vector, base, position);
}

SmallVector<Value> transposeSquare(ImplicitLocOpBuilder &b,
                                   ValueRange columns) {
  // Interleaving the first half with the second moves one bit of the number of
  // a vector into that of a lane: after all bits, rows are columns.
  auto lanes = int64_t(columns.size());
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    low.push_back(lane / 2 + (lane % 2) * lanes);
    high.push_back(low.back() + lanes / 2);
  }
  SmallVector<Value> now = llvm::to_vector(columns);
  for (int64_t bit = 1; bit < lanes; bit *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i)
      for (ArrayRef<int64_t> half : {low, high})
        next.push_back(
            vector::ShuffleOp::create(b, now[i], now[i + lanes / 2], half));
    now = std::move(next);
  }
  return now;
}

VectorBody::VectorBody(GenericOp op, const Nest &nest, unsigned loop)
    : op(op), nest(nest), loop(loop) {
  classify();
}

VectorBody::Kind VectorBody::kindOf(Value value) const {
  auto found = kinds.find(value);
  return found == kinds.end() ? Kind() : found->second;
}

void VectorBody::classify() {
  for (auto [access, argument] :
       llvm::zip_equal(nest.accesses, op.getBody()->getArguments())) {
    bool isResult = argument.getArgNumber() >= op.getNumDpsInputs();
    if (access.isUniformAlong(loop) && !isResult)
      continue;
    kinds[argument] = {Lanes::Varying};
    Type type = argument.getType();
    int64_t stride = access.strides.empty() ? 0 : access.strides[loop];
    if (!isMemoryType(type) || ShapedType::isDynamic(stride))
      legal = false;
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    bool uniform = llvm::all_of(inner.getOperands(), [&](Value operand) {
      return kindOf(operand).lanes == Lanes::Uniform;
    });
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      if (nest.loopOf[index.getDim()] == int(loop))
        kinds[index] = {Lanes::Stepping, 1};
      continue;
    }
    if (uniform)
      continue; // cloned as it is
    if (isa<memref::LoadOp>(inner)) {
      legal &= classifyLoad(&inner);
      continue;
    }
    Kind kind = combine(&inner);
    for (Value result : inner.getResults())
      kinds[result] = kind;
    // Integer division may trap in lanes that are masked off.
    if (isa<CheckOp>(inner))
      legal &= llvm::all_of(inner.getOperandTypes(), isLaneType);
    else if (!OpTrait::hasElementwiseMappableTraits(&inner) ||
             isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                 arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(
                 inner) ||
             !llvm::all_of(inner.getResultTypes(), isLaneType) ||
             !llvm::all_of(inner.getOperandTypes(), isLaneType))
      legal = false;
  }
}

/// By how much an op of such operands grows from lane to lane, if evenly.
static std::optional<int64_t> stepOf(Operation *op, int64_t left,
                                     int64_t right) {
  if (isa<arith::AddIOp>(op))
    return left + right;
  if (isa<arith::SubIOp>(op))
    return left - right;
  if (isa<arith::IndexCastOp>(op)) {
    Type type = op->getResult(0).getType();
    return type.isIndex() || type.isInteger(64) ? std::optional(left)
                                                : std::nullopt;
  }
  APInt factor;
  if (isa<arith::MulIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&factor)))
    return left * factor.getSExtValue();
  return std::nullopt;
}

/// What an op makes of operands that are not all uniform.
VectorBody::Kind VectorBody::combine(Operation *inner) const {
  auto all = [&](auto holds) {
    return llvm::all_of(inner->getOperands(),
                        [&](Value operand) { return holds(kindOf(operand)); });
  };
  if (all([](Kind kind) { return kind.isScalar(); })) {
    auto step = stepOf(
        inner, kindOf(inner->getOperand(0)).step,
        inner->getNumOperands() > 1 ? kindOf(inner->getOperand(1)).step : 0);
    if (step && *step != 0)
      return {Lanes::Stepping, *step};
  }
  if (all([](Kind kind) { return kind.lanes != Lanes::Varying; }))
    return {Lanes::Computed, usualStep(inner)};
  return {Lanes::Varying};
}

/// How far a position mostly moves from lane to lane that comparisons have a
/// say in.
int64_t VectorBody::usualStep(Operation *inner) const {
  auto step = [&](unsigned operand) {
    return kindOf(inner->getOperand(operand)).step;
  };
  if (isa<arith::MaxSIOp, arith::MinSIOp>(inner))
    return step(0) ? step(0) : step(1);
  if (isa<arith::SelectOp>(inner))
    return step(1) ? step(1) : step(2);
  unsigned operands = inner->getNumOperands();
  return stepOf(inner, step(0), operands > 1 ? step(1) : 0).value_or(0);
}

/// Whether only the last index varies, over elements side by side.
bool VectorBody::hasOneRow(Operation *inner) const {
  auto load = cast<memref::LoadOp>(inner);
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(load.getMemRefType().getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 && isMemoryType(load.getType()) &&
         llvm::all_of(load.getIndices().drop_back(), [&](Value index) {
           return kindOf(index).lanes == Lanes::Uniform;
         });
}

bool VectorBody::classifyLoad(Operation *inner) {
  auto load = cast<memref::LoadOp>(inner);
  kinds[load] = {Lanes::Varying};
  auto type = load.getMemRefType();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  Kind last = kindOf(load.getIndices().back());
  if (hasOneRow(load) && last.lanes == Lanes::Stepping)
    return true;
  return isMemoryType(type.getElementType()) &&
         strides.back() == 1 && // vector.gather has no other
         llvm::all_of(llvm::zip_equal(load.getIndices(), strides),
                      [&](auto at) {
                        auto [index, stride] = at;
                        return kindOf(index).lanes == Lanes::Uniform ||
                               !ShapedType::isDynamic(stride);
                      });
}

/// The vector of a value of the body, made on first use.
Value VectorBody::asVector(ImplicitLocOpBuilder &b, Value original,
                           int64_t lanes) {
  Value value = emitted.lookup(original);
  if (!value)
    value = original; // defined above the op
  if (isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  Attribute constant;
  int64_t step = kindOf(original).step;
  if (!step && matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, constant));
  Value vector = vector::BroadcastOp::create(b, type, value);
  if (step) {
    Value lane = steps(b, lanes, step);
    if (!value.getType().isIndex())
      lane = arith::IndexCastOp::create(b, type, lane);
    vector = arith::AddIOp::create(b, vector, lane);
  }
  return vector;
}

Value VectorBody::loadOperand(ImplicitLocOpBuilder &b, unsigned number,
                              const Point &point) {
  const Access &access = nest.accesses[number];
  if (access.isScalar)
    return access.base;
  if (!point.loaded.empty() && point.loaded[number])
    return point.loaded[number];
  if (access.isUniformAlong(loop))
    return memref::LoadOp::create(b, access.base, point.positions[number]);
  return loadVector(b, access.base, point.positions[number],
                    access.strides[loop], point.lanes, point.mask);
}

Value VectorBody::gather(ImplicitLocOpBuilder &b, Operation *inner,
                         const Point &point) {
  auto load = cast<memref::LoadOp>(inner);
  auto type = VectorType::get({point.lanes}, load.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)load.getMemRefType().getStridesAndOffset(strides, offset);
  Value zero = arith::ConstantIndexOp::create(b, 0), lanes;
  SmallVector<Value> origin;
  for (auto [index, stride] : llvm::zip_equal(load.getIndices(), strides)) {
    bool isUniform = kindOf(index).lanes == Lanes::Uniform;
    Value known = emitted.lookup(index);
    origin.push_back(!isUniform ? zero : known ? known : index);
    if (isUniform)
      continue;
    Value vector = asVector(b, index, point.lanes);
    Value scaled = arith::MulIOp::create(
        b, vector, constantOf(b, cast<VectorType>(vector.getType()), stride));
    lanes =
        lanes ? arith::AddIOp::create(b, lanes, scaled).getResult() : scaled;
  }
  return vector::GatherOp::create(b, type, load.getMemRef(), origin, lanes,
                                  maskOrAll(b, point.mask, point.lanes),
                                  constantOf(b, type, 1));
}

/// Elements side by side, or a few places apart, are loads and shuffles. Those
/// at computed places may be so, as most of a rolled or padded row and most
/// windows are: one look costs less than a gather.
void VectorBody::emitLoad(ImplicitLocOpBuilder &b, Operation *inner,
                          const Point &point) {
  auto load = cast<memref::LoadOp>(inner);
  Value last = load.getIndices().back();
  Kind kind = hasOneRow(load) ? kindOf(last) : Kind{Lanes::Varying};
  SmallVector<Value> at;
  for (Value index : load.getIndices()) {
    Value known = emitted.lookup(index);
    at.push_back(known ? known : index);
  }
  auto loadRow = [&](ImplicitLocOpBuilder &b, int64_t step) {
    return loadVector(b, load.getMemRef(), at, step, point.lanes, point.mask);
  };
  if (kind.lanes == Lanes::Stepping) {
    emitted[load] = loadRow(b, kind.step);
  } else if (kind.lanes == Lanes::Computed) {
    Value places = asVector(b, last, point.lanes);
    at.back() = vector::ExtractOp::create(b, places, 0);
    int64_t step = kind.step ? kind.step : 1;
    Value row = arith::AddIOp::create(
        b, vector::BroadcastOp::create(b, places.getType(), at.back()),
        steps(b, point.lanes, step));
    Value same =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, places, row);
    Value all =
        vector::ReductionOp::create(b, vector::CombiningKind::AND, same);
    auto yields = [&](auto value) {
      return [value](OpBuilder &inside, Location loc) {
        ImplicitLocOpBuilder in(loc, inside);
        scf::YieldOp::create(in, value(in));
      };
    };
    emitted[load] =
        scf::IfOp::create(b, all, yields([&](ImplicitLocOpBuilder &in) {
                            return loadRow(in, step);
                          }),
                          yields([&](ImplicitLocOpBuilder &in) {
                            return gather(in, load, point);
                          }))
            .getResult(0);
  } else {
    emitted[load] = gather(b, load, point);
  }
}

/// One branch for all lanes. Those that are masked off compute with anything.
void VectorBody::emitCheck(ImplicitLocOpBuilder &b, CheckOp check,
                           const Point &point) {
  Value holds = asVector(b, check.getHolds(), point.lanes);
  if (point.mask) {
    Value off = arith::XOrIOp::create(b, point.mask,
                                      maskOrAll(b, Value(), point.lanes));
    holds = arith::OrIOp::create(b, holds, off);
  }
  Value all = vector::ReductionOp::create(b, vector::CombiningKind::AND, holds);
  Value vector = asVector(b, check.getValue(), point.lanes);
  emitted[check] = CheckOp::create(b, vector.getType(), vector, all,
                                   check.getWords(), check.getSite());
}

void VectorBody::emitOp(ImplicitLocOpBuilder &b, Operation *inner,
                        const Point &point) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    emitted[index] = point.indices[index.getDim()];
    return;
  }
  bool uniform = llvm::all_of(inner->getOperands(), [&](Value operand) {
    return kindOf(operand).lanes == Lanes::Uniform;
  });
  if (uniform || kindOf(inner->getResult(0)).isScalar()) {
    IRMapping map;
    for (Value operand : inner->getOperands())
      if (Value known = emitted.lookup(operand))
        map.map(operand, known);
    inner->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Value known = emitted.lookup(operand))
          map.map(operand, known);
    });
    Operation *clone = b.clone(*inner, map);
    for (auto [from, to] :
         llvm::zip_equal(inner->getResults(), clone->getResults()))
      emitted[from] = to;
    return;
  }
  if (isa<memref::LoadOp>(inner))
    return emitLoad(b, inner, point);
  if (auto check = dyn_cast<CheckOp>(inner))
    return emitCheck(b, check, point);
  OperationState state(inner->getLoc(), inner->getName());
  for (Value operand : inner->getOperands())
    state.addOperands(asVector(b, operand, point.lanes));
  for (Type type : inner->getResultTypes())
    state.addTypes(VectorType::get({point.lanes}, type));
  state.addAttributes(inner->getAttrs());
  Operation *made = b.create(state);
  for (auto [from, to] :
       llvm::zip_equal(inner->getResults(), made->getResults()))
    emitted[from] = to;
}

SmallVector<Value> VectorBody::emit(ImplicitLocOpBuilder &b,
                                    const Point &point) {
  emitted.clear();
  Block *body = op.getBody();
  unsigned inputs = op.getNumDpsInputs();
  for (BlockArgument argument : body->getArguments()) {
    unsigned number = argument.getArgNumber();
    if (argument.use_empty())
      continue;
    emitted[argument] = number >= inputs && !point.accumulators.empty()
                            ? point.accumulators[number - inputs]
                            : loadOperand(b, number, point);
  }
  for (Operation &inner : body->without_terminator())
    emitOp(b, &inner, point);
  SmallVector<Value> yielded;
  for (Value value : body->getTerminator()->getOperands())
    yielded.push_back(asVector(b, value, point.lanes));
  return yielded;
}

} // namespace ltc::compiler
