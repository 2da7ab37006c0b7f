//===- repeated_checks.cpp - Checks that an earlier one makes -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph writes to donated memory only after its last check (plan.cpp). The
// layers of a model look the same indices up again and again: a cache of keys
// and values could never be updated in place if each of them counted.
//
//===----------------------------------------------------------------------===//
#include "ltc/op_facts.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

/// Writes down what a value inside a loop is computed from. Equal texts are
/// equal values, over all elements of the tensors they name.
class Expression {
public:
  /// Nothing if that cannot be told.
  static std::optional<std::string> of(Operation *check, GenericOp loop) {
    Expression expression(loop);
    if (!expression.write(check))
      return std::nullopt;
    return std::move(expression.text);
  }

private:
  explicit Expression(GenericOp loop) : loop(loop), out(text) {}

  bool write(Operation *op) {
    if (op->getNumRegions() || op->getBlock() != loop.getBody())
      return false;
    out << op->getName() << '(';
    for (NamedAttribute attribute : op->getAttrs())
      if (attribute.getName() != "site")
        out << attribute.getName() << '=' << attribute.getValue() << ' ';
    for (Value operand : op->getOperands()) {
      if (!write(operand))
        return false;
      out << ',';
    }
    out << ')';
    return true;
  }

  bool write(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == loop.getBody()) {
      OpOperand *operand = loop.getMatchingOpOperand(argument);
      AffineMap map = loop.getMatchingIndexingMap(operand);
      if (!loop.isDpsInput(operand) || !map.isProjectedPermutation())
        return false;
      value = operand->get();
    } else if (Operation *op = value.getDefiningOp();
               op && op->getBlock() == loop.getBody()) {
      return isMemoryEffectFree(op) && write(op);
    }
    // Constants come once to each loop.
    if (Attribute constant; matchPattern(value, m_Constant(&constant)))
      out << constant;
    else
      out << value.getAsOpaquePointer();
    return true;
  }

  GenericOp loop;
  std::string text;
  llvm::raw_string_ostream out;
};

/// Whether the loop's body runs for each element of what it reads.
bool runsAtAll(GenericOp loop) {
  return llvm::none_of(loop.getStaticLoopRanges(),
                       [](int64_t range) { return range == 0; });
}

/// What decides whether a library call that writes by index fails: its indices,
/// and the types of what it writes to and of what it writes there.
std::optional<std::string> describe(CallOp call) {
  if (!factsOf(call.getCallee()).has(OpFact::WritesByIndex))
    return std::nullopt;
  auto inputs = call.getInputs();
  size_t indices =
      call.getCallee() == "aten::index_put" ? inputs.size() - 2 : 1;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << call.getCallee() << call.getValues() << inputs.getTypes();
  for (Value index : inputs.slice(1, indices))
    out << index.getAsOpaquePointer();
  return text;
}

} // namespace

LogicalResult markRepeatedChecks(func::FuncOp main, const OptimizeOptions &) {
  llvm::StringSet<> made;
  auto mark = [&](Operation *op, const std::optional<std::string> &text,
                  bool isMade) {
    if (text && made.contains(*text))
      op->setAttr(attr::kRepeated, UnitAttr::get(op->getContext()));
    else if (text && isMade)
      made.insert(*text);
  };
  for (Operation &op : main.getBody().front()) {
    if (auto call = dyn_cast<CallOp>(op))
      mark(call, describe(call), true);
    if (auto loop = dyn_cast<GenericOp>(op))
      for (Operation &inner : *loop.getBody())
        if (isa<CheckOp, CheckIndexOp, CheckDivisorOp>(inner))
          mark(&inner, Expression::of(&inner, loop), runsAtAll(loop));
  }
  return success();
}

} // namespace ltc::compiler
