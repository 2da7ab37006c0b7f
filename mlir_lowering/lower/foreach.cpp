//===- foreach.cpp - _foreach_ ops, one tensor at a time --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// _foreach_x.Scalar(self[], scalar) is x.Scalar(self[i], scalar) for each i. A
// list argument gives its i-th element, anything else goes to every item.
// Argument names differ between the two, so rows served this way take theirs
// by order (pointwise) or are listed in kRenamed.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/lower/foreach.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace ltc::compiler {

struct Renamed {
  llvm::StringRef base, op;
  std::initializer_list<llvm::StringRef> arguments;
};
static const Renamed kRenamed[] = {
    {"norm", "aten::linalg_vector_norm", {"self", "ord", "dtype"}},
    {"copy", "aten::copy", {"self", "src"}},
    {"zero", "aten::zeros_like", {"self"}},
};

/// The single-tensor op's possible names, the likeliest first.
static llvm::SmallVector<std::string> candidates(llvm::StringRef base,
                                                 llvm::StringRef overload) {
  llvm::SmallVector<llvm::StringRef> suffixes;
  if (overload == "List")
    suffixes = {".Tensor", ".Tensor_Tensor", ""};
  else if (!overload.empty())
    suffixes = {".Scalar", ".Tensor_Scalar", ".Tensor", ""};
  else
    suffixes = {"", ".self"};
  llvm::SmallVector<std::string> names;
  for (llvm::StringRef suffix : suffixes)
    names.push_back(("aten::" + base + suffix).str());
  return names;
}

/// The i-th element of a list of numbers, or the argument itself.
static OpCall::Argument itemOf(const OpCall &op, const OpCall::Argument &from,
                               size_t i) {
  OpCall::Argument to = from;
  if (from.isList) {
    to.list.clear();
    to.isList = false;
    to.isOperand = true;
    to.value = from.list[i];
  } else if (auto numbers = op.reals(from.name); i < numbers.size()) {
    to.value = numbers[i];
  } else if (auto flags = op.flags(from.name); i < flags.size()) {
    to.value = Value(bool(flags[i]));
  } else if (from.attribute &&
             mlir::isa<mlir::DenseI64ArrayAttr>(from.attribute)) {
    to.value = op.integers(from.name)[i];
  }
  return to;
}

std::vector<ForeachItem> splitForeach(const OpCall &op, const OpTable &table) {
  auto [base, overload] = llvm::StringRef(op.op).split('.');
  if (!base.consume_front("aten::_foreach_"))
    return {};
  const Renamed *renamed = llvm::find_if(
      kRenamed, [&](const Renamed &entry) { return entry.base == base; });
  if (renamed == std::end(kRenamed))
    renamed = nullptr;
  auto names = renamed ? llvm::SmallVector<std::string>{renamed->op.str()}
                       : candidates(base, overload);

  std::vector<ForeachItem> items;
  for (size_t i = 0; i < op.resultCount(); ++i) {
    OpCall call;
    call.site = op.site;
    call.results = {op.result(i)};
    for (auto [position, from] : llvm::enumerate(op.arguments)) {
      if (from.isList && from.list.size() != op.resultCount())
        return {};
      // A one-dimensional tensor of scalars is not one item's scalar.
      if (overload == "Tensor" && from.name == "scalars")
        return {};
      call.arguments.push_back(itemOf(op, from, i));
      if (renamed && position < renamed->arguments.size())
        call.arguments.back().name = renamed->arguments.begin()[position].str();
    }
    const Row *row = nullptr;
    for (const std::string &name : names) {
      call.op = name;
      row = table.match(call);
      if (row)
        break;
    }
    if (!row)
      return {};
    items.push_back({row, std::move(call)});
  }
  return items;
}

} // namespace ltc::compiler
