//===- argument_format.cpp - How ltc.op and ltc.call are written ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   "aten::where.self"(condition = %0, self = %1, other = %2) node 7
//       : (tensor<8xi8> as bool, tensor<8xf32>, tensor<f32>)
//
// `as` names the dtype where the type does not tell it.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"

using namespace mlir;

namespace ltc::compiler {

using Unresolved = OpAsmParser::UnresolvedOperand;

static ParseResult parseArgument(OpAsmParser &parser,
                                 SmallVectorImpl<Unresolved> &operands,
                                 SmallVectorImpl<Attribute> &names,
                                 SmallVectorImpl<Attribute> &values) {
  Builder &b = parser.getBuilder();
  std::string name;
  if (parser.parseKeywordOrString(&name) || parser.parseEqual())
    return failure();
  names.push_back(b.getStringAttr(name));

  Unresolved operand;
  OptionalParseResult one = parser.parseOptionalOperand(operand);
  if (one.has_value()) {
    operands.push_back(operand);
    values.push_back(OperandAttr::get(b.getContext()));
    return *one;
  }
  if (succeeded(parser.parseOptionalLSquare())) {
    SmallVector<bool> present;
    auto element = [&]() -> ParseResult {
      present.push_back(failed(parser.parseOptionalKeyword("none")));
      return present.back() ? parser.parseOperand(operands.emplace_back())
                            : ParseResult(success());
    };
    if (failed(parser.parseOptionalRSquare()) &&
        (parser.parseCommaSeparatedList(element) || parser.parseRSquare()))
      return failure();
    values.push_back(OperandListAttr::get(b.getContext(), present));
    return success();
  }
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    values.push_back(b.getUnitAttr());
    return success();
  }
  return parser.parseAttribute(values.emplace_back());
}

/// One type or several, in parentheses or not.
static ParseResult parseTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types,
                              SmallVectorImpl<int8_t> &dtypes) {
  auto element = [&]() -> ParseResult {
    auto where = parser.getCurrentLocation();
    Type &type = types.emplace_back();
    if (parser.parseType(type))
      return failure();
    std::optional<DType> dtype = impliedDType(type);
    if (succeeded(parser.parseOptionalKeyword("as"))) {
      StringRef keyword;
      if (parser.parseKeyword(&keyword))
        return failure();
      dtype = parseDType(std::string_view(keyword));
    }
    if (!dtype)
      return parser.emitError(where, "this type has no such dtype");
    dtypes.push_back(int8_t(*dtype));
    return success();
  };
  if (failed(parser.parseOptionalLParen()))
    return parser.parseCommaSeparatedList(element);
  if (succeeded(parser.parseOptionalRParen()))
    return success();
  return failure(parser.parseCommaSeparatedList(element) ||
                 parser.parseRParen());
}

/// Everything up to the operand types.
static ParseResult parseNode(OpAsmParser &parser, OperationState &state) {
  Builder &b = parser.getBuilder();
  StringAttr callee;
  SmallVector<Unresolved> operands;
  SmallVector<Attribute> names, values;
  auto where = parser.getCurrentLocation();
  if (parser.parseAttribute(callee, "callee", state.attributes) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return parseArgument(parser, operands, names, values);
      }))
    return failure();
  state.addAttribute("names", b.getArrayAttr(names));
  state.addAttribute("values", b.getArrayAttr(values));
  if (succeeded(parser.parseOptionalKeyword("node"))) {
    int64_t node;
    if (parser.parseInteger(node))
      return failure();
    state.addAttribute("node", b.getI64IntegerAttr(node));
  }
  SmallVector<Type> types;
  SmallVector<int8_t> dtypes;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColon() ||
      parseTypes(parser, types, dtypes) ||
      parser.resolveOperands(operands, types, where, state.operands))
    return failure();
  state.addAttribute("operand_dtypes", b.getDenseI8ArrayAttr(dtypes));
  return success();
}

static void printTypes(OpAsmPrinter &printer, TypeRange types,
                       ArrayRef<int8_t> dtypes) {
  llvm::interleaveComma(llvm::zip_equal(types, dtypes), printer,
                        [&](auto pair) {
                          auto [type, dtype] = pair;
                          printer << type;
                          if (impliedDType(type) != DType(dtype))
                            printer << " as " << StringRef(name(DType(dtype)));
                        });
}

template <typename NodeOp>
static void printNode(OpAsmPrinter &printer, NodeOp op) {
  printer << ' ' << op.getCalleeAttr() << '(';
  llvm::interleaveComma(argumentsOf(op), printer, [&](OpArgument argument) {
    printer.printKeywordOrString(argument.name);
    printer << " = ";
    unsigned next = argument.first;
    if (isa<OperandAttr>(argument.value)) {
      printer << op.getInputs()[next];
    } else if (auto list = dyn_cast<OperandListAttr>(argument.value)) {
      printer << '[';
      llvm::interleaveComma(list.getPresent(), printer, [&](bool present) {
        if (present)
          printer << op.getInputs()[next++];
        else
          printer << "none";
      });
      printer << ']';
    } else if (isa<UnitAttr>(argument.value)) {
      printer << "none";
    } else {
      printer << argument.value;
    }
  });
  printer << ')';
  if (auto node = op.getNode())
    printer << " node " << *node;
  printer.printOptionalAttrDict(
      op->getAttrs(), {"callee", "names", "values", "node", "operand_dtypes",
                       "result_dtypes", "operandSegmentSizes"});
  printer << " : (";
  printTypes(printer, op.getInputs().getTypes(), op.getOperandDtypes());
  printer << ')';
}

ParseResult OpOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<int8_t> dtypes;
  if (parseNode(parser, state) || parser.parseArrow() ||
      parseTypes(parser, state.types, dtypes))
    return failure();
  state.addAttribute("result_dtypes",
                     parser.getBuilder().getDenseI8ArrayAttr(dtypes));
  return success();
}

void OpOp::print(OpAsmPrinter &printer) {
  printNode(printer, *this);
  printer << " -> (";
  printTypes(printer, getResultTypes(), getResultDtypes());
  printer << ')';
}

ParseResult CallOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &b = parser.getBuilder();
  if (parseNode(parser, state))
    return failure();
  auto inputs = int32_t(state.operands.size());

  SmallVector<Unresolved> outs;
  SmallVector<Type> types;
  SmallVector<int8_t> dtypes;
  auto where = parser.getCurrentLocation();
  if (parser.parseKeyword("outs") || parser.parseLParen() ||
      parser.parseOperandList(outs) || parser.parseColon() ||
      parseTypes(parser, types, dtypes) || parser.parseRParen() ||
      parser.resolveOperands(outs, types, where, state.operands))
    return failure();
  state.addAttribute("result_dtypes", b.getDenseI8ArrayAttr(dtypes));
  state.addAttribute("operandSegmentSizes",
                     b.getDenseI32ArrayAttr({inputs, int32_t(outs.size())}));
  for (Type type : types)
    if (isa<mlir::TensorType>(type))
      state.addTypes(type);
  return success();
}

void CallOp::print(OpAsmPrinter &printer) {
  printNode(printer, *this);
  printer << " outs(" << getOuts() << " : ";
  printTypes(printer, getOuts().getTypes(), getResultDtypes());
  printer << ')';
}

} // namespace ltc::compiler
