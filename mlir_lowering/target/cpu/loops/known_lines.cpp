//===- known_lines.cpp - Integers along a row of a body ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/loops/known_lines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

Known::Known(GenericOp op, unsigned dim, Part &part) : dim(dim), part(part) {
  for (Operation &inner : op.getBody()->without_terminator())
    learn(&inner);
}

void Known::set(Operation *op, Line line, bool byDecision) {
  if (!line.isSafe())
    return;
  Value result = op->getResult(0);
  lines[result] = line;
  if (byDecision || llvm::any_of(op->getOperands(), [&](Value operand) {
        return isDecided(operand);
      }))
    decided.insert(result);
}

/// What `choose` says at the begin of the part, which ends where it changes;
/// it goes one way only.
int64_t Known::decide(llvm::function_ref<int64_t(int64_t)> choose) {
  int64_t first = choose(part.begin);
  auto all = llvm::seq(part.begin, part.end);
  part.end = *llvm::partition_point(
      all, [&](int64_t i) { return choose(i) == first; });
  return first;
}

/// Whether a comparison changes once at most along such lines.
static bool goesOneWay(arith::CmpIPredicate predicate, Line left, Line right) {
  using P = arith::CmpIPredicate;
  if (predicate == P::eq || predicate == P::ne)
    return left.step == right.step;
  return llvm::is_contained({P::slt, P::sle, P::sgt, P::sge}, predicate);
}

static bool isTrue(arith::CmpIPredicate predicate, int64_t left,
                   int64_t right) {
  return arith::applyCmpPredicate(predicate, APInt(64, left, true),
                                  APInt(64, right, true));
}

void Known::learnBinary(Operation *op, Line left, Line right) {
  bool isFlag = op->getResult(0).getType().isInteger(1);
  if (isa<arith::AddIOp>(op) && !isFlag)
    set(op, left.plus(right));
  else if (isa<arith::SubIOp>(op) && !isFlag)
    set(op, left.plus(right, -1));
  else if (isa<arith::MulIOp>(op) && right.step == 0)
    set(op, {left.step * right.offset, left.offset * right.offset});
  else if (isa<arith::AndIOp>(op) && isFlag)
    set(op, {0, left.offset & right.offset});
  else if (isa<arith::OrIOp>(op) && isFlag)
    set(op, {0, left.offset | right.offset});
  else if (isa<arith::XOrIOp>(op) && isFlag)
    set(op, {0, left.offset ^ right.offset});
  else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    arith::CmpIPredicate predicate = compare.getPredicate();
    if (goesOneWay(predicate, left, right))
      set(op, {0, decide([&](int64_t i) -> int64_t {
                 return isTrue(predicate, left.at(i), right.at(i));
               })},
          true);
  } else if (isa<arith::MaxSIOp, arith::MinSIOp>(op)) {
    // Where both are equal, the left one, which positions are, goes on.
    bool max = isa<arith::MaxSIOp>(op);
    bool isLeft = decide([&](int64_t i) -> int64_t {
      return max ? left.at(i) >= right.at(i) : left.at(i) <= right.at(i);
    });
    set(op, isLeft ? left : right, true);
  }
}

void Known::learn(Operation *op) {
  if (op->getNumResults() != 1)
    return;
  Type type = op->getResult(0).getType();
  if (!type.isIndex() && !type.isInteger(64) && !type.isInteger(1))
    return;
  APInt number;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    if (index.getDim() == dim)
      set(op, {1, 0});
    return;
  }
  for (Value operand : op->getOperands())
    if (matchPattern(operand, m_ConstantInt(&number)) &&
        number.isSignedIntN(31))
      lines[operand] = {0, operand.getType().isInteger(1)
                               ? int64_t(number.getBoolValue())
                               : number.getSExtValue()};
  auto operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return find(operand); });
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (!operands[0])
      return;
    if (const Line *chosen = operands[operands[0]->offset ? 1 : 2])
      set(op, Line(*chosen), isDecided(select.getCondition()));
    return;
  }
  // One flag may be enough.
  int64_t enough = isa<arith::OrIOp>(op);
  if (isa<arith::AndIOp, arith::OrIOp>(op) && type.isInteger(1))
    for (const Line *flag : operands)
      if (flag && flag->offset == enough)
        return set(op, {0, enough});
  if (operands.empty() || llvm::is_contained(operands, nullptr))
    return;
  if (operands.size() == 2)
    learnBinary(op, Line(*operands[0]), Line(*operands[1]));
  else if (isa<arith::IndexCastOp>(op))
    set(op, Line(*operands[0]));
  else if (isa<math::AbsIOp>(op)) {
    Line x = *operands[0];
    bool negative = decide([&](int64_t i) -> int64_t { return x.at(i) < 0; });
    set(op, negative ? Line().plus(x, -1) : x, true);
  }
}

} // namespace ltc::compiler
