//===- whole_calls.cpp - Ops that stay whole --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/handover/linalg.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace ltc::compiler {

/// An operand as what is said of it: "%2" is the third.
static mlir::Attribute operandText(Builder &b, unsigned number) {
  return b.getStringAttr("%" + llvm::Twine(number));
}

static mlir::Attribute argumentText(Builder &b, const OpArgument &argument) {
  if (isa<OperandAttr>(argument.value))
    return operandText(b, argument.first);
  if (auto dtype = dyn_cast<DTypeAttr>(argument.value))
    return b.getStringAttr(StringRef(name(dtype.getValue())));
  auto list = dyn_cast<OperandListAttr>(argument.value);
  if (!list)
    return sizeTexts(b, argument.value);
  SmallVector<mlir::Attribute> all;
  unsigned next = argument.first;
  for (bool present : list.getPresent())
    all.push_back(present ? operandText(b, next++) : b.getUnitAttr());
  return b.getArrayAttr(all);
}

static ArrayAttr dtypeTexts(Builder &b, ArrayRef<int8_t> dtypes) {
  SmallVector<mlir::Attribute> all;
  for (int8_t dtype : dtypes)
    all.push_back(b.getStringAttr(StringRef(name(DType(dtype)))));
  return b.getArrayAttr(all);
}

void lowerToWholeCall(OpOp op, unsigned number) {
  OpBuilder b(op);
  SmallVector<NamedAttribute> arguments;
  for (const OpArgument &argument : argumentsOf(op))
    arguments.push_back(
        b.getNamedAttr(argument.name, argumentText(b, argument)));
  std::string symbol =
      (op.getCallee() + "_" + llvm::Twine(number)).str(); // "aten::sort_0"
  auto call = func::CallOp::create(b, op.getLoc(), symbol, op.getResultTypes(),
                                   op.getInputs());
  if (mlir::Attribute sizes = op->getAttr(LtcDialect::kSizes))
    call->setAttr(LtcDialect::kSizes, sizes);
  b.setInsertionPointToEnd(op->getParentOfType<ModuleOp>().getBody());
  auto declared = func::FuncOp::create(
      b, op.getLoc(), symbol,
      b.getFunctionType(op.getInputs().getTypes(), op.getResultTypes()));
  declared.setPrivate();
  declared->setAttr("ltc.op", op.getCalleeAttr());
  declared->setAttr("ltc.arguments", b.getDictionaryAttr(arguments));
  declared->setAttr("ltc.operands", dtypeTexts(b, op.getOperandDtypes()));
  declared->setAttr("ltc.results", dtypeTexts(b, op.getResultDtypes()));
  op->replaceAllUsesWith(call.getResults());
  op->erase();
}

} // namespace ltc::compiler
