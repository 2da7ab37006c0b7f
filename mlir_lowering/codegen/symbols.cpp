//===- symbols.cpp - Symbolic sizes as run-time values ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/symbols.h"

#include "mlir_lowering/dialect/ltc_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

/// Computes each symbol and each formula once.
class SizeLowering {
public:
  SizeLowering(Location loc, Value symbols)
      : b(loc, symbols.getContext()), symbols(symbols) {
    b.setInsertionPointAfterValue(symbols);
  }

  Value valueOf(StringRef formula) {
    Value &known = values[formula];
    if (!known)
      known = computeSize(b, *Formula::parse(std::string_view(formula)),
                          [&](uint32_t symbol) { return symbolValue(symbol); });
    return known;
  }

private:
  Value symbolValue(uint32_t symbol) {
    Value &known = loaded[symbol];
    if (known)
      return known;
    Value place =
        LLVM::GEPOp::create(b, symbols.getType(), b.getI64Type(), symbols,
                            ArrayRef<LLVM::GEPArg>{int32_t(symbol)});
    Value word = LLVM::LoadOp::create(b, b.getI64Type(), place);
    return known = arith::IndexCastOp::create(b, b.getIndexType(), word);
  }

  ImplicitLocOpBuilder b;
  Value symbols;
  llvm::StringMap<Value> values;
  std::map<uint32_t, Value> loaded;
};

} // namespace

Value computeSize(ImplicitLocOpBuilder &b, const Formula &formula,
                  llvm::function_ref<Value(uint32_t)> symbol) {
  auto times = [&](Value a, Value c) {
    return a ? arith::MulIOp::create(b, a, c).getResult() : c;
  };
  Value sum;
  for (const Formula::Term &term : formula.terms()) {
    Value product;
    for (uint32_t number : term.symbols)
      product = times(product, symbol(number));
    if (term.coefficient != 1 || !product)
      product =
          times(product, arith::ConstantIndexOp::create(b, term.coefficient));
    sum = sum ? arith::AddIOp::create(b, sum, product).getResult() : product;
  }
  return sum;
}

bool usesSymbols(func::FuncOp function) {
  return function.walk([](SizeOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

LogicalResult lowerSizes(func::FuncOp function, Value symbols) {
  SizeLowering lowering(function.getLoc(), symbols);
  WalkResult result = function.walk([&](SizeOp op) {
    if (failed(op.verify()))
      return WalkResult::interrupt();
    op.getResult().replaceAllUsesWith(lowering.valueOf(op.getFormula()));
    op.erase();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace ltc::compiler
