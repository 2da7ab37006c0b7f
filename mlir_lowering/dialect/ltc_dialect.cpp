//===- ltc_dialect.cpp - The ltc dialect ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/ltc_dialect.h"

#include "ltc/op_facts.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir_lowering/dialect/element_type.h"
#include "llvm/ADT/TypeSwitch.h"

#include "mlir_lowering/dialect/ltc_dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "mlir_lowering/dialect/ltc_attributes.cpp.inc"
#define GET_OP_CLASSES
#include "mlir_lowering/dialect/ltc_ops.cpp.inc"

using namespace mlir;

namespace ltc::compiler {

void LtcDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mlir_lowering/dialect/ltc_attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mlir_lowering/dialect/ltc_ops.cpp.inc"
      >();
}

Attribute DTypeAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  auto where = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&keyword) ||
      parser.parseGreater())
    return {};
  std::optional<DType> dtype = parseDType(std::string_view(keyword));
  if (!dtype)
    return parser.emitError(where, "no dtype is called '") << keyword << "'",
           Attribute();
  return DTypeAttr::get(parser.getContext(), *dtype);
}

void DTypeAttr::print(AsmPrinter &printer) const {
  printer << '<' << StringRef(ltc::name(getValue())) << '>';
}

SmallVector<OpArgument> argumentsOf(ArrayAttr names, ArrayAttr values) {
  SmallVector<OpArgument> arguments;
  unsigned next = 0;
  for (auto [name, value] : llvm::zip_equal(names, values)) {
    arguments.push_back({cast<StringAttr>(name).getValue(), value, next});
    if (isa<OperandAttr>(value))
      ++next;
    else if (auto list = dyn_cast<OperandListAttr>(value))
      next += llvm::count(list.getPresent(), true);
  }
  return arguments;
}

static LogicalResult checkDTypes(Operation *op, TypeRange types,
                                 ArrayRef<int8_t> dtypes, StringRef what) {
  if (types.size() != dtypes.size())
    return op->emitOpError() << "has " << types.size() << ' ' << what
                             << "s and " << dtypes.size() << " dtypes";
  for (auto [type, number] : llvm::zip_equal(types, dtypes)) {
    auto dtype = DType(number);
    auto shaped = dyn_cast<ShapedType>(type);
    Type wanted = shaped ? memoryType(op->getContext(), dtype)
                         : elementType(op->getContext(), dtype);
    if (wanted != (shaped ? shaped.getElementType() : Type(type)))
      return op->emitOpError() << what << " of dtype " << StringRef(name(dtype))
                               << " has type " << type;
  }
  return success();
}

template <typename NodeOp> static LogicalResult checkArguments(NodeOp op) {
  if (op.getNames().size() != op.getValues().size())
    return op.emitOpError("has as many argument names as values to have");
  unsigned operands = 0;
  for (Attribute value : op.getValues()) {
    if (isa<OperandAttr>(value))
      ++operands;
    else if (auto list = dyn_cast<OperandListAttr>(value))
      operands += llvm::count(list.getPresent(), true);
  }
  if (operands != op.getInputs().size())
    return op.emitOpError() << "names " << operands << " operands and has "
                            << op.getInputs().size();
  return checkDTypes(op, op.getInputs().getTypes(), op.getOperandDtypes(),
                     "operand");
}

LogicalResult OpOp::verify() {
  if (failed(checkArguments(*this)))
    return failure();
  return checkDTypes(*this, getResultTypes(), getResultDtypes(), "result");
}

LogicalResult CallOp::verify() {
  if (failed(checkArguments(*this)))
    return failure();
  if (auto permutations = getPermutations())
    if (permutations->size() != getInputs().size() ||
        !llvm::all_of(*permutations, llvm::IsaPred<DenseI64ArrayAttr>))
      return emitOpError("wants one permutation for each input");
  return checkDTypes(*this, getOuts().getTypes(), getResultDtypes(),
                     "destination");
}

static bool isFormula(StringRef text) {
  auto formula = Formula::parse(std::string_view(text));
  return formula && !formula->isConstant() && formula->str() == text;
}

LogicalResult SizeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef formula) {
  return isFormula(formula)
             ? success()
             : emitError() << "'" << formula << "' is no formula of symbols";
}

LogicalResult SizeOp::verify() {
  return isFormula(getFormula()) ? success()
                                 : emitOpError()
                                       << "'" << getFormula()
                                       << "' is no formula of symbols";
}

bool CallOp::readsViews(StringRef callee) {
  return factsOf(callee).has(OpFact::ReadsStrided);
}

bool CallOp::mayFail() { return !factsOf(getCallee()).has(OpFact::NeverFails); }

ArrayRef<int64_t> CallOp::permutationOf(unsigned input) {
  if (auto permutations = getPermutations())
    return cast<DenseI64ArrayAttr>((*permutations)[input]).asArrayRef();
  return {};
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : (*this)->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

} // namespace ltc::compiler
