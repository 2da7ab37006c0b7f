//===- egress.cpp - A graph as a file of another dialect --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/egress.h"

#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/node_location.h"
#include "mlir_lowering/egress/functions.h"
#include "mlir_lowering/egress/main_function.h"
#include "mlir_lowering/egress/whole_ops.h"
#include "mlir_lowering/import/import.h"
#include "mlir_lowering/lower/lower.h"
#include "mlir_lowering/rewrite.h"
#include "mlir_lowering/stages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {
namespace {

/// Of the text; docs/egress.md says what each brought.
constexpr int kVersion = 1;

/// Collects the first error of a context.
class Refusal {
public:
  Refusal(MLIRContext *context, const Graph &graph, StringRef dialect)
      : graph(graph), dialect(dialect),
        handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              what.empty()) {
            what = diagnostic.str();
            where = diagnostic.getLocation();
          }
          return success();
        }) {}

  Error error() const {
    Error error;
    error.code = ErrorCode::Unsupported;
    error.stage = Stage::Lower;
    SmallVector<uint32_t> nodes;
    if (where)
      nodes = nodesAt(*where);
    if (!nodes.empty() && nodes.front() < graph.nodes.size())
      error.op = graph.nodes[nodes.front()].op;
    error.message = "could not write " +
                    (error.op.empty() ? "the graph" : error.op) + " as " +
                    dialect.str();
    if (!what.empty())
      error.message += ": " + what;
    if (where)
      error.source = sourceAt(*where);
    error.hint = "the form linalg leaves whole what it has no op for";
    return error;
  }

private:
  const Graph &graph;
  StringRef dialect;
  std::string what;
  std::optional<Location> where;
  ScopedDiagnosticHandler handler;
};

/// What checks a value and raises has no form in the dialect: a file leaves the
/// check out, a part must not.
LogicalResult refuseChecks(ModuleOp module) {
  WalkResult walked = module.walk([](Operation *op) {
    auto whole = dyn_cast<OpOp>(op);
    bool checks = isa<CheckOp, CheckIndexOp, CheckDivisorOp>(op) ||
                  (whole && checksValues(whole.getCallee()));
    if (!checks)
      return WalkResult::advance();
    op->emitError("it raises for some values, which has no form there");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// All ops but those that the dialect says whole, as linalg.
LogicalResult lowerToLoops(ModuleOp module) {
  constexpr Products products{std::numeric_limits<int64_t>::max(),
                              /*areNamed=*/true};
  eraseDead(module);
  SmallVector<OpOp> ops;
  module.walk([&](OpOp op) { ops.push_back(op); });
  for (OpOp op : ops) {
    op->setLoc(atNode(op.getLoc(), int64_t(op.getNode().value_or(0))));
    if (findWholeOp(op.getCallee()))
      continue;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto results = lowerByRow(b, op, products, &decompositions());
    if (failed(results))
      return failure();
    if (results->empty())
      return op.emitError("it has no row and no decomposition");
    op->replaceAllUsesWith(*results);
    op->erase();
  }
  eraseDead(module);
  PassManager passes(module.getContext());
  passes.addPass(createCanonicalizerPass(rewriteConfig()));
  passes.addPass(createCSEPass());
  return passes.run(module);
}

std::string print(ModuleOp module, StringRef dialect) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "// " << dialect << ", written by torch_ltc, version " << kVersion
         << " (docs/egress.md)\n";
  module.print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  stream << '\n';
  return text;
}

} // namespace

Result<std::string> emitGraph(const Graph &graph, LoweredForm form) {
  DialectRegistry registry;
  registerStages(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects();
  OwningOpRef<ModuleOp> module = importGraph(graph, context);
  OwningOpRef<ModuleOp> made = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder b = OpBuilder::atBlockEnd(made->getBody());
  auto d = form == LoweredForm::Tosa ? makeTosa(b) : makeStableHlo(b);
  Refusal refusal(&context, graph, d->name());
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (failed(lowerToLoops(*module)) ||
      (form == LoweredForm::StableHloPart && failed(refuseChecks(*module))))
    return refusal.error();
  expandFunctions(main, *d);
  if (failed(sayMain(*d, main)))
    return refusal.error();
  return print(*made, d->name());
}

void listEgress(llvm::raw_ostream &out) {
  for (const PointwiseRow &row : pointwiseRows())
    out << "element|" << row.op << '|' << row.stableHlo << '|' << row.tosa
        << '\n';
  for (const TensorOpRow &row : tensorOpRows())
    out << "tensor|" << row.what << '|' << row.stableHlo << '|' << row.tosa
        << '\n';
  for (StringRef op : wholeOps())
    out << "whole|" << op << '\n';
  for (const std::string &op : decompositions().names())
    out << "decomposed|" << op << '\n';
}

} // namespace ltc::compiler
