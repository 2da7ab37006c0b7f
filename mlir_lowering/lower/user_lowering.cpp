//===- user_lowering.cpp - Lowerings that a program brings ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/lower/user_lowering.h"

#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace ltc::compiler {

StringRef userLowering(OpOp op) {
  for (const OpArgument &argument : argumentsOf(op))
    if (argument.name == kUserLowering)
      if (auto text = dyn_cast<StringAttr>(argument.value))
        return text.getValue();
  return "";
}

/// Parses with the first complaint kept: what is wrong is the user's text, and
/// its lines mean nothing without that being said.
static OwningOpRef<ModuleOp> parse(OpOp op, StringRef text) {
  std::string complaint;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler keep(op.getContext(), [&](Diagnostic &diagnostic) {
      if (complaint.empty())
        llvm::raw_string_ostream(complaint)
            << diagnostic.getLocation() << ": " << diagnostic;
    });
    module = parseSourceString<ModuleOp>(text, ParserConfig(op.getContext()),
                                         "lowering");
  }
  if (!module)
    op.emitError() << "the registered lowering of " << op.getCallee()
                   << " does not parse: " << complaint;
  return module;
}

/// Makes `value` of the wanted type, if only its sizes are known or not.
static FailureOr<mlir::Value> fit(OpBuilder &b, OpOp op, mlir::Value value,
                                  Type wanted, StringRef what,
                                  unsigned number) {
  if (value.getType() == wanted)
    return value;
  if (tensor::CastOp::areCastCompatible(value.getType(), wanted))
    return mlir::Value(
        tensor::CastOp::create(b, value.getLoc(), wanted, value));
  return op.emitError() << "the registered lowering of " << op.getCallee()
                        << ": " << what << " " << number << " is "
                        << value.getType() << " and was expected to be "
                        << wanted;
}

/// Whether the type says a number where the operand's size is symbolic.
static bool closesSize(mlir::Value operand, Type written) {
  auto from = dyn_cast<RankedTensorType>(operand.getType());
  auto to = dyn_cast<RankedTensorType>(written);
  if (!from || !to || from.getRank() != to.getRank())
    return false;
  return llvm::any_of(llvm::seq(from.getRank()), [&](int64_t dim) {
    return from.isDynamicDim(dim) && !to.isDynamicDim(dim);
  });
}

/// Gives the function the op's types, from which the sizes inside follow.
static LogicalResult specialize(func::FuncOp function, OpOp op) {
  Block &body = function.getBody().front();
  Operation *end = body.getTerminator();
  auto b = OpBuilder::atBlockBegin(&body);
  for (auto [number, parameter, operand] :
       llvm::enumerate(body.getArguments(), op.getInputs())) {
    Type written = parameter.getType();
    parameter.setType(operand.getType());
    if (closesSize(operand, written))
      return op.emitError() << "not for dynamic sizes: the registered lowering "
                            << "of " << op.getCallee() << " takes " << written;
    auto cast = fit(b, op, parameter, written, "operand", number);
    if (failed(cast))
      return failure();
    if (*cast != parameter)
      parameter.replaceAllUsesExcept(*cast, cast->getDefiningOp());
  }
  b.setInsertionPoint(end);
  for (auto [number, given, wanted] :
       llvm::enumerate(end->getOperands(), op.getResultTypes())) {
    auto cast = fit(b, op, given, wanted, "result", number);
    if (failed(cast))
      return failure();
    end->setOperand(number, *cast);
  }
  function.setType(
      b.getFunctionType(op.getInputs().getTypes(), op.getResultTypes()));
  return success();
}

/// Named structured ops fuse as generic ones.
static LogicalResult generalize(func::FuncOp function) {
  SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op))
      named.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return failure();
  }
  return success();
}

static LogicalResult canonicalize(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, context);
  return applyPatternsGreedily(function, std::move(patterns));
}

FailureOr<SmallVector<mlir::Value>> inlineUserLowering(ImplicitLocOpBuilder &b,
                                                       OpOp op) {
  OwningOpRef<ModuleOp> module = parse(op, userLowering(op));
  if (!module)
    return failure();
  auto functions = llvm::to_vector(module->getOps<func::FuncOp>());
  if (functions.size() != 1 || !functions[0].getBody().hasOneBlock())
    return op.emitError() << "the registered lowering of " << op.getCallee()
                          << " has " << functions.size()
                          << " functions; wanted one, of one block";
  func::FuncOp function = functions[0];
  if (function.getNumArguments() != op.getInputs().size() ||
      function.getNumResults() != op.getNumResults())
    return op.emitError() << "the registered lowering of " << op.getCallee()
                          << " takes " << function.getNumArguments()
                          << " operands and gives " << function.getNumResults()
                          << " results; the op has " << op.getInputs().size()
                          << " and " << op.getNumResults();
  if (failed(specialize(function, op)) || failed(generalize(function)) ||
      failed(canonicalize(function)))
    return failure();

  IRMapping mapping;
  mapping.map(function.getArguments(), op.getInputs());
  Block &body = function.getBody().front();
  for (Operation &each : body.without_terminator())
    b.clone(each, mapping)->walk([&](Operation *inner) {
      inner->setLoc(op.getLoc());
    });
  SmallVector<mlir::Value> results;
  for (auto [result, recorded] :
       llvm::zip_equal(body.getTerminator()->getOperands(), op.getResults())) {
    results.push_back(mapping.lookupOrDefault(result));
    if (hasSymbolicSize(recorded) &&
        sizesOf(results.back()) != sizesOf(recorded))
      return op.emitError() << "not for dynamic sizes: the registered lowering "
                            << "of " << op.getCallee()
                            << " gives other sizes than were recorded";
  }
  return results;
}

} // namespace ltc::compiler
