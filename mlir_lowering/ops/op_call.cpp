//===- op_call.cpp - An ATen call as a lowering sees it ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_call.h"

#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"

using namespace mlir;

namespace ltc::compiler {

static Value literalOf(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (isa<IntegerAttr, SizeAttr>(attribute))
    return sizeOf(OpFoldResult(attribute));
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  return {};
}

OpCall::OpCall(OpOp call) : op(call.getCallee().str()) {
  site = call.getNode().value_or(0);
  auto operand = [&](unsigned index) -> Value {
    mlir::Value ir = call.getInputs()[index];
    auto dtype = DType(call.getOperandDtypes()[index]);
    return isa<RankedTensorType>(ir.getType()) ? Value(ir, dtype)
                                               : Value::host(ir, dtype);
  };
  for (const OpArgument &from : argumentsOf(call)) {
    Argument &to = arguments.emplace_back();
    to.name = from.name.str();
    unsigned next = from.first;
    if (isa<OperandAttr>(from.value)) {
      to.value = operand(next);
      to.isOperand = true;
    } else if (auto list = dyn_cast<OperandListAttr>(from.value)) {
      to.isList = true;
      for (bool present : list.getPresent())
        to.list.push_back(present ? operand(next++) : Value());
    } else {
      to.attribute = from.value;
      to.value = literalOf(from.value);
    }
  }
  for (auto [result, dtype] :
       llvm::zip_equal(call.getResults(), call.getResultDtypes()))
    results.push_back({cast<RankedTensorType>(result.getType()), DType(dtype),
                       sizesOf(result)});
}

const OpCall::Argument *OpCall::find(StringRef name) const {
  for (const Argument &argument : arguments)
    if (argument.name == name)
      return &argument;
  return nullptr;
}

Value OpCall::operator[](StringRef name) const {
  const Argument *argument = find(name);
  return argument ? argument->value : Value();
}

bool OpCall::has(StringRef name) const {
  const Argument *argument = find(name);
  return argument &&
         !(argument->attribute && isa<UnitAttr>(argument->attribute));
}

const Values &OpCall::list(StringRef name) const {
  static const Values empty;
  const Argument *argument = find(name);
  return argument ? argument->list : empty;
}

template <typename T>
static T attributeOr(const OpCall::Argument *argument, T none = {}) {
  return argument && argument->attribute ? dyn_cast<T>(argument->attribute)
                                         : none;
}

int64_t OpCall::integer(StringRef name, int64_t otherwise) const {
  Value value = (*this)[name];
  return value.isLiteral() ? value.asInteger() : otherwise;
}
double OpCall::real(StringRef name, double otherwise) const {
  Value value = (*this)[name];
  return value.isLiteral() ? value.asReal() : otherwise;
}
bool OpCall::flag(StringRef name, bool otherwise) const {
  Value value = (*this)[name];
  return value.isLiteral() ? value.asInteger() != 0 : otherwise;
}
StringRef OpCall::text(StringRef name, StringRef otherwise) const {
  auto attribute = attributeOr<StringAttr>(find(name));
  return attribute ? attribute.getValue() : otherwise;
}
std::optional<DType> OpCall::dtype(StringRef name) const {
  auto attribute = attributeOr<DTypeAttr>(find(name));
  return attribute ? std::optional(attribute.getValue()) : std::nullopt;
}
SmallVector<int64_t> OpCall::integers(StringRef name) const {
  if (auto list = attributeOr<DenseI64ArrayAttr>(find(name)))
    return SmallVector<int64_t>(list.asArrayRef());
  if (auto list = attributeOr<ArrayAttr>(find(name)))
    return sizesIn(list);
  // A schema may take one int for a list.
  Value value = (*this)[name];
  return value.isLiteral() ? SmallVector<int64_t>{value.asInteger()}
                           : SmallVector<int64_t>();
}
SmallVector<double> OpCall::reals(StringRef name) const {
  auto list = attributeOr<DenseF64ArrayAttr>(find(name));
  return list ? SmallVector<double>(list.asArrayRef()) : SmallVector<double>();
}
SmallVector<bool> OpCall::flags(StringRef name) const {
  auto list = attributeOr<DenseBoolArrayAttr>(find(name));
  return list ? SmallVector<bool>(list.asArrayRef()) : SmallVector<bool>();
}

bool OpCall::hasSymbolicSize() const {
  auto isOpen = [](Value value) {
    return value.isTensor() && !value.tensorType().hasStaticShape();
  };
  return llvm::any_of(arguments,
                      [&](const Argument &argument) {
                        return isOpen(argument.value) ||
                               llvm::any_of(argument.list, isOpen);
                      }) ||
         llvm::any_of(results, [](const ResultType &result) {
           return !result.type.hasStaticShape();
         });
}

bool OpCall::hasSymbolicArgument() const {
  return llvm::any_of(arguments, [](const Argument &argument) {
    auto list = dyn_cast_if_present<ArrayAttr>(argument.attribute);
    return isa_and_present<SizeAttr>(argument.attribute) ||
           (list && llvm::any_of(list, llvm::IsaPred<SizeAttr>));
  });
}

Value OpCall::self() const {
  for (const Argument &argument : arguments)
    if (argument.value.isTensor())
      return argument.value;
    else if (!argument.list.empty())
      return argument.list.front();
  return {};
}

int64_t OpCall::dim(StringRef name, int64_t otherwise, Value of) const {
  int64_t dim = integer(name, otherwise);
  return dim < 0 ? dim + std::max<int64_t>((of ? of : self()).rank(), 1) : dim;
}

SmallVector<int64_t> OpCall::dims(StringRef name, Value of) const {
  int64_t rank = (of ? of : self()).rank();
  SmallVector<int64_t> dims = integers(name);
  for (int64_t &dim : dims)
    if (dim < 0)
      dim += std::max<int64_t>(rank, 1);
  if (dims.empty())
    for (int64_t dim = 0; dim < rank; ++dim)
      dims.push_back(dim);
  llvm::sort(dims);
  return dims;
}

StringRef baseName(StringRef op) {
  op.consume_front("aten::");
  return op.split('.').first;
}

} // namespace ltc::compiler
