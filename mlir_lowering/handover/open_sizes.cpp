//===- open_sizes.cpp - Symbolic sizes in upstream's dialects -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A symbol is a dimension of an argument of @main: tensor.dim reads it there,
// and arithmetic on it makes the sizes that follow. Which sizes are equal is
// told by the attribute ltc.sizes, as text.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/symbols.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/handover/linalg.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

namespace ltc::compiler {
namespace {

class OpenSizes {
public:
  explicit OpenSizes(func::FuncOp main)
      : main(main), b(main.getLoc(), main.getContext()) {
    b.setInsertionPointToStart(&main.getBody().front());
  }

  LogicalResult run() {
    describe();
    SmallVector<SizeOp> done; // the builder stands at the first op
    WalkResult result = main.walk([&](SizeOp op) {
      std::optional<Formula> formula =
          Formula::parse(std::string_view(op.getFormula()));
      if (!formula || !isComputable(*formula, op))
        return WalkResult::interrupt();
      mlir::Value &known = values[op.getFormula()];
      if (!known)
        known = computeSize(b, *formula,
                            [&](uint32_t symbol) { return valueOf(symbol); });
      op.getResult().replaceAllUsesWith(known);
      done.push_back(op);
      return WalkResult::advance();
    });
    for (SizeOp op : done)
      op.erase();
    return failure(result.wasInterrupted());
  }

private:
  /// Says the sizes of what @main gives and takes, and of calls, as text: the
  /// results first, whose sizes are found by the others'.
  void describe() {
    auto text = [&](mlir::Value value) {
      return sizeTexts(b, sizesAttr(b, sizesOf(value)));
    };
    Operation *ret = main.getBody().front().getTerminator();
    for (OpOperand &returned : ret->getOpOperands())
      if (hasSymbolicSize(returned.get()))
        main.setResultAttr(returned.getOperandNumber(), LtcDialect::kSizes,
                           text(returned.get()));
    for (BlockArgument argument : main.getArguments())
      if (hasSymbolicSize(argument))
        main.setArgAttr(argument.getArgNumber(), LtcDialect::kSizes,
                        text(argument));
    main.walk([&](func::CallOp call) {
      if (auto sizes = call->getAttrOfType<ArrayAttr>(LtcDialect::kSizes))
        call->setAttr(LtcDialect::kSizes, sizeTexts(b, sizes));
    });
  }

  bool isComputable(const Formula &formula, SizeOp op) {
    for (const Formula::Term &term : formula.terms())
      for (uint32_t symbol : term.symbols)
        if (!valueOf(symbol)) {
          op.emitError() << "no argument has the open size s" << symbol
                         << " as a dimension, and a size is made of it";
          return false;
        }
    return true;
  }

  /// Nothing if no dimension is just that.
  mlir::Value valueOf(uint32_t symbol) {
    mlir::Value &known = symbols[symbol];
    int64_t wanted = sizeTable(b.getContext()).size(Formula::symbol(symbol));
    for (BlockArgument argument : main.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      for (int64_t d = 0; !known && type && d < type.getRank(); ++d)
        if (given[argument.getArgNumber()][size_t(d)] == wanted)
          known = tensor::DimOp::create(b, argument, d);
    }
    return known;
  }

  func::FuncOp main;
  ImplicitLocOpBuilder b;
  std::map<uint32_t, mlir::Value> symbols;
  llvm::StringMap<mlir::Value> values;
  /// Sizes of the arguments.
  SmallVector<SmallVector<int64_t>> given = sizesOfArguments(main);

  static SmallVector<SmallVector<int64_t>> sizesOfArguments(func::FuncOp main) {
    SmallVector<SmallVector<int64_t>> all;
    for (BlockArgument argument : main.getArguments())
      all.push_back(isa<RankedTensorType>(argument.getType())
                        ? sizesOf(argument)
                        : SmallVector<int64_t>());
    return all;
  }
};

} // namespace

mlir::Attribute sizeTexts(Builder b, mlir::Attribute sizes) {
  if (auto size = dyn_cast<SizeAttr>(sizes))
    return b.getStringAttr(size.getFormula());
  auto list = dyn_cast<ArrayAttr>(sizes);
  if (!list)
    return sizes;
  return b.getArrayAttr(llvm::map_to_vector(
      list, [&](mlir::Attribute one) { return sizeTexts(b, one); }));
}

LogicalResult lowerOpenSizes(func::FuncOp main) {
  return OpenSizes(main).run();
}

} // namespace ltc::compiler
