//===- op_table.cpp - One row for each ATen op ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace ltc::compiler {

const OpTable &OpTable::get() {
  static const OpTable table = [] {
    OpTable t;
    for (auto *addFamily :
         {addPointwiseOps, addActivationOps, addCompareOps, addReduceOps,
          addNormalizeOps, addReshapeOps, addIndexOps, addJoinOps, addCreateOps,
          addRandomOps, addPoolOps, addResizeOps, addLossOps, addOptimizerOps})
      addFamily(t);
    return t;
  }();
  return table;
}

Row &OpTable::add(RowNames names, Row row) {
  Row *kept = rows.emplace_back(std::make_unique<Row>(std::move(row))).get();
  for (const char *name : names.names) {
    bool isNew = byName.emplace(name, kept).second;
    assert(isNew && "an op has one row");
    (void)isNew;
  }
  return *kept;
}

const Row *OpTable::find(llvm::StringRef op) const {
  auto it = byName.find(std::string_view(op));
  return it == byName.end() ? nullptr : it->second;
}

const Row *OpTable::match(const OpCall &op) const {
  const Row *row = find(op.op);
  return row && row->accepts(op) ? row : nullptr;
}

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> all;
  for (const auto &[name, row] : byName)
    all.push_back(name);
  return all;
}

/// Of two floats. No op with a row takes a list of floats but a foreach op,
/// whose items have one value each.
static bool isComplexNumber(const OpCall::Argument &argument) {
  return !argument.value &&
         mlir::isa_and_present<mlir::DenseF64ArrayAttr>(argument.attribute);
}

bool Row::accepts(const OpCall &op) const {
  if (llvm::any_of(op.arguments, isComplexNumber))
    return false;
  auto isPlain = [](Value value) {
    return !value || hasArithmetic(value.dtype());
  };
  if (!takesAnyDType) {
    for (const OpCall::Argument &argument : op.arguments)
      if (!isPlain(argument.value) || !llvm::all_of(argument.list, isPlain))
        return false;
    for (const ResultType &result : op.results)
      if (!hasArithmetic(result.dtype))
        return false;
  }
  if (!takesAnySize && (op.hasSymbolicArgument() ||
                        (kind == Kind::Structured && op.hasSymbolicSize())))
    return false;
  return !condition || condition(op);
}

Value Elements::operator[](llvm::StringRef name) const {
  for (auto [argument, value] : llvm::zip_equal(op.arguments, values))
    if (argument.name == name)
      return value;
  return {};
}

/// Whether an argument is one of those a pointwise body receives in order.
static bool isElement(const OpCall::Argument &argument) {
  return argument.value ||
         (argument.attribute && mlir::isa<mlir::UnitAttr>(argument.attribute));
}

Row::Lowering OpTable::pointwiseLowering(Elementwise f, Operands taken) {
  return [f, taken](Emit &e, const OpCall &op) -> Values {
    Values operands;
    for (const OpCall::Argument &argument : op.arguments)
      operands.push_back(argument.value);
    ResultType result = op.result();
    DType stored =
        result.dtype == DType::Bool ? promote(operands) : result.dtype;
    DType compute = computeDType(stored);
    return e.mapMany(
        operands, [&](Scalar s, llvm::ArrayRef<Value> elements) -> Values {
          Values byArgument, inOrder;
          for (auto [argument, element] :
               llvm::zip_equal(op.arguments, elements)) {
            bool convert = element && !element.isLiteral() &&
                           element.dtype() != DType::Bool;
            byArgument.push_back(convert ? s.cast(element, compute) : element);
            if (element && (taken == Operands::AsStored ||
                            (taken == Operands::FirstAsStored &&
                             inOrder.empty() && element.dtype() != stored)))
              byArgument.back() = s.rounded(byArgument.back(), stored);
            if (isElement(argument))
              inOrder.push_back(byArgument.back());
          }
          return {
              s.cast(f(s, Elements(op, byArgument), inOrder), result.dtype)};
        });
  };
}

} // namespace ltc::compiler
