//===- stages.cpp - From graph to artifact, stage by stage ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/stages.h"

#include "ltc/log.h"
#include "ltc/trace.h"
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/contract.h"
#include "mlir_lowering/diagnose.h"
#include "mlir_lowering/import/import.h"
#include "mlir_lowering/lower/lower.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include <fstream>

using namespace mlir;

namespace ltc::compiler {

void registerStages(DialectRegistry &registry) {
  registerLoweredDialects(registry);
  registry.insert<affine::AffineDialect, bufferization::BufferizationDialect,
                  cf::ControlFlowDialect, complex::ComplexDialect,
                  LLVM::LLVMDialect, memref::MemRefDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  linalg::registerAllDialectInterfaceImplementations(registry);
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  affine::registerValueBoundsOpInterfaceExternalModels(registry);
  arith::registerValueBoundsOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  memref::registerValueBoundsOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  tensor::registerTilingInterfaceExternalModels(registry);
  tensor::registerValueBoundsOpInterfaceExternalModels(registry);
  vector::registerBufferizableOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

namespace {

using AfterStage = std::function<void(Stage)>;

/// Names the op of a failing check.
Artifact::ErrorSite siteOf(const Graph *graph, int64_t node) {
  if (!graph || node < 0 || size_t(node) >= graph->nodes.size())
    return {};
  const Node &n = graph->nodes[node];
  std::string operands;
  auto add = [&](ValueId value) {
    if (value != kNoValue)
      operands += (operands.empty() ? "" : ", ") + graph->typeOf(value).str();
  };
  for (const Argument &argument : n.arguments) {
    if (auto *one = std::get_if<ValueId>(&argument.value))
      add(*one);
    if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
      for (ValueId value : *list)
        add(value);
  }
  return {n.op, operands, uint32_t(node)};
}

LogicalResult codegen(ModuleOp module, Artifact &artifact, const Graph *graph) {
  auto describe = [&](int64_t node) { return siteOf(graph, node); };
  lowerChecks(module, artifact.errorSites, describe);
  if (failed(lowerKernels(module)) || failed(lowerMain(module, artifact)))
    return failure();
  return lowerToLLVM(module);
}

Status run(ModuleOp module, Stage last, const Target &target,
           Artifact &artifact, const Graph *graph, const AfterStage &after) {
  Diagnosis diagnosis(module.getContext());
  {
    Span span(Stage::Lower);
    if (failed(lowerOps(module)) || failed(checkContract(module, Stage::Lower)))
      return diagnosis.error(Stage::Lower, "lower the graph");
    after(Stage::Lower);
  }
  if (last == Stage::Lower)
    return {};
  {
    Span span(Stage::Optimize);
    if (failed(optimize(module, {vectorBitsOf(target)})) ||
        failed(checkContract(module, Stage::Optimize)))
      return diagnosis.error(Stage::Optimize, "optimize the graph");
    after(Stage::Optimize);
  }
  if (last == Stage::Optimize)
    return {};
  Span span(Stage::Codegen);
  if (failed(codegen(module, artifact, graph)) ||
      failed(checkContract(module, Stage::Codegen)))
    return diagnosis.error(Stage::Codegen, "lower the kernels to LLVM");
  return {};
}

/// Writes <dir>/<name>.<stage>.mlir when dumps are wanted.
class Dumper {
public:
  explicit Dumper(const CompileOptions &options) : options(options) {}

  void write(Stage stage, const std::string &text, const char *suffix) const {
    std::string path = options.dumpDir + "/" + options.dumpName + "." +
                       std::string(name(stage)) + suffix;
    std::ofstream file(path);
    file << text;
    if (!file)
      log(LogLevel::Warn, stage, "could not write the dump " + path);
  }
  void write(Stage stage, ModuleOp module) const {
    if (!wanted())
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, OpPrintingFlags().enableDebugInfo(false));
    write(stage, text, ".mlir");
  }
  bool wanted() const { return !options.dumpDir.empty(); }

private:
  const CompileOptions &options;
};

const DialectRegistry &stageRegistry() {
  static const DialectRegistry *registry = [] {
    auto *made = new DialectRegistry;
    registerStages(*made);
    return made;
  }();
  return *registry;
}

} // namespace

Status runStages(ModuleOp module, Stage last, const Target &target,
                 Artifact *artifact) {
  Artifact unused;
  return run(module, last, resolveTarget(target), artifact ? *artifact : unused,
             nullptr, [](Stage) {});
}

Result<Artifact> compileGraph(const Graph &graph,
                              const CompileOptions &options) {
  Target target = resolveTarget(options.target);
  if (target.kind != "cpu")
    return Error{ErrorCode::Unsupported,
                 Stage::Codegen,
                 "the compiler has no code generator for target kind '" +
                     target.kind + "'",
                 {},
                 {},
                 {}};
  Dumper dumper(options);
  MLIRContext context(stageRegistry(), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module;
  {
    Span span(Stage::Import);
    module = importGraph(graph, context);
  }
  dumper.write(Stage::Import, *module);

  Artifact artifact;
  artifact.compiler = compilerIdentity();
  artifact.target = target.str();
  artifact.entry = kEntry.str();
  artifact.formulas = graph.formulas;
  artifact.symbols = uint32_t(graph.symbols.size());
  for (const ValueType &input : graph.inputs)
    artifact.inputs.push_back(input);
  for (const GraphOutput &output : graph.outputs) {
    artifact.results.push_back(graph.typeOf(output.value).tensor);
    artifact.donated.push_back(output.donated);
  }
  artifact.graphText = graph.str(SourceLines::Omit);
  Status status = run(*module, Stage::Codegen, target, artifact, &graph,
                      [&](Stage stage) { dumper.write(stage, *module); });
  if (!status)
    return status.takeError();
  Span span(Stage::Codegen);
  std::function<void(const std::string &)> dump;
  if (dumper.wanted())
    dump = [&](const std::string &text) {
      dumper.write(Stage::Codegen, text, ".ll");
    };
  Result<std::string> code = emitObject(*module, target, dump);
  if (!code)
    return code.takeError();
  artifact.code = std::move(*code);
  return artifact;
}

} // namespace ltc::compiler
