//===- linalg.cpp - A graph for compilers that are not ours -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/handover/linalg.h"

#include "mlir_lowering/diagnose.h"
#include "mlir_lowering/egress/egress.h"
#include "mlir_lowering/import/import.h"
#include "mlir_lowering/lower/lower.h"
#include "mlir_lowering/rewrite.h"
#include "mlir_lowering/stages.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {
namespace {

/// Of the text; docs/hand-over.md says what each brought.
constexpr int64_t kVersion = 1;

/// Whether code of ours stands between two ops: a check, whose failure has no
/// form in upstream's dialects, or a library call.
bool hasOwnOps(Operation *from, Operation *to) {
  for (; from != to; from = from->getNextNode())
    if (from->walk([](Operation *op) {
              return isa<LtcDialect>(op->getDialect()) && !isa<SizeOp>(op)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted())
      return true;
  return false;
}

void eraseBetween(Operation *from, Operation *to) {
  while (from != to) {
    Operation *last = to->getPrevNode();
    bool isFirst = last == from;
    last->erase();
    if (isFirst)
      return;
  }
}

LogicalResult lowerOp(OpOp op, unsigned number) {
  if (op.getCallee() == kShard) {
    lowerToShard(op);
    return success();
  }
  constexpr Products products{std::numeric_limits<int64_t>::max(),
                              /*areNamed=*/true};
  Operation *before = op->getPrevNode();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto results = lowerByRow(b, op, products);
  if (failed(results))
    return failure();
  Operation *first = before ? before->getNextNode() : &op->getBlock()->front();
  if (results->empty() || hasOwnOps(first, op)) {
    eraseBetween(first, op);
    lowerToWholeCall(op, number);
    return success();
  }
  op->replaceAllUsesWith(*results);
  op->erase();
  return success();
}

/// Says in plain text what our own attributes of @main say.
void describeMain(func::FuncOp main) {
  Builder b(main.getContext());
  auto text = [&](mlir::Attribute dtype) {
    return b.getStringAttr(StringRef(name(cast<DTypeAttr>(dtype).getValue())));
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (mlir::Attribute dtype = main.getArgAttr(i, LtcDialect::kDType))
      main.setArgAttr(i, "ltc.dtype", text(dtype));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (mlir::Attribute dtype = main.getResultAttr(i, LtcDialect::kDType))
      main.setResultAttr(i, "ltc.dtype", text(dtype));
}

/// Each op on its own line without aliases: `"name"(...) <{...}> : types`,
/// which a reader of few hundred lines can take apart.
std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(
      stream,
      OpPrintingFlags().printGenericOpForm().useLocalScope().enableDebugInfo(
          false));
  stream << '\n';
  return text;
}

Result<std::string> write(ModuleOp module, LoweredForm form) {
  if (form == LoweredForm::Text)
    return print(module);
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (succeeded(writeBytecodeToFile(module, stream)))
    return bytes;
  return Error{ErrorCode::Internal,
               Stage::Lower,
               "could not write the module as bytecode",
               "",
               {},
               ""};
}

Error openSizes(const Graph &graph) {
  std::string symbols;
  for (size_t i = 0; i < graph.symbols.size(); ++i)
    symbols += (i ? ", s" : "s") + std::to_string(i);
  return {ErrorCode::Unsupported,
          Stage::Lower,
          "StableHLO and TOSA are written with sizes as numbers, and the graph "
          "leaves " +
              symbols + " open",
          "",
          {},
          "pass export_graph arguments of the sizes that are wanted, or "
          "ltc-opt --sizes= with a number for each symbol; linalg takes open "
          "sizes"};
}

} // namespace

LogicalResult lowerForHandOver(ModuleOp module) {
  eraseDead(module);
  SmallVector<OpOp> ops;
  module.walk([&](OpOp op) { ops.push_back(op); });
  unsigned number = 0;
  for (OpOp op : ops)
    if (failed(lowerOp(op, number++)))
      return failure();
  eraseDead(module);
  module->setAttr("ltc.hand_over",
                  Builder(module.getContext()).getI64IntegerAttr(kVersion));
  auto main = module.lookupSymbol<func::FuncOp>("main");
  describeMain(main);
  if (failed(lowerOpenSizes(main)))
    return failure();
  module->removeAttr(LtcDialect::kSymbols);
  PassManager passes(module.getContext());
  passes.addPass(createCanonicalizerPass(rewriteConfig()));
  passes.addPass(createCSEPass());
  return passes.run(module);
}

Result<std::string> lowerGraph(const Graph &graph, LoweredForm form) {
  if (form == LoweredForm::Graph)
    return graph.str(SourceLines::Omit);
  if (form != LoweredForm::Text && form != LoweredForm::Bytecode) {
    if (graph.isDynamic())
      return openSizes(graph);
    return emitGraph(graph, form);
  }
  DialectRegistry registry;
  registerStages(registry);
  registry.insert<shard::ShardDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = importGraph(graph, context);
  Diagnosis diagnosis(&context);
  if (failed(lowerForHandOver(*module)) || failed(verify(*module)))
    return diagnosis.error(Stage::Lower, "lower the graph for hand-over");
  return write(*module, form);
}

} // namespace ltc::compiler
