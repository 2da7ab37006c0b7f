//===- stages.cpp - From graph to artifact, stage by stage ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/stages.h"

#include "ltc/log.h"
#include "ltc/op_facts.h"
#include "ltc/trace.h"
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/partition.h"
#include "mlir_lowering/contract.h"
#include "mlir_lowering/diagnose.h"
#include "mlir_lowering/import/import.h"
#include "mlir_lowering/lower/lower.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/region_programs.h"
#include "mlir_lowering/target/target_backend.h"
#include "mlir_lowering/work_pool.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/IR/Module.h"

#include <fstream>

using namespace mlir;

namespace ltc::compiler {

void registerStages(DialectRegistry &registry) {
  registerLoweredDialects(registry);
  registry
      .insert<affine::AffineDialect, bufferization::BufferizationDialect,
              cf::ControlFlowDialect, complex::ComplexDialect, gpu::GPUDialect,
              LLVM::LLVMDialect, memref::MemRefDialect, nvgpu::NVGPUDialect,
              scf::SCFDialect, vector::VectorDialect>();
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

/// The dimension that a node's index is for, counted from the first.
std::optional<int64_t> indexedDimension(const Graph &graph, const Node &node) {
  if (const Argument *indices = node.find("indices")) {
    // PyTorch counts the indices, not the dimensions.
    auto *list = std::get_if<std::vector<ValueId>>(&indices->value);
    bool isOne =
        list && list->size() - std::ranges::count(*list, kNoValue) == 1;
    return isOne ? std::optional<int64_t>(0) : std::nullopt;
  }
  const Argument *self = node.find("self"), *dim = node.find("dim");
  if (!self || !dim)
    return std::nullopt;
  auto *value = std::get_if<ValueId>(&self->value);
  auto *attribute = std::get_if<Attribute>(&dim->value);
  auto *number = attribute ? std::get_if<int64_t>(attribute) : nullptr;
  if (!value || !number)
    return std::nullopt;
  auto rank = int64_t(graph.typeOf(*value).tensor.dims.size());
  return *number < 0 ? *number + rank : *number;
}

/// What PyTorch's kernels say of an index out of range; see ErrorSite::words.
std::string wordsForIndex(const Graph &graph, const Node &node) {
  constexpr std::string_view place = "{dim}";
  std::string words(indexWords(node.op));
  size_t at = words.find(place);
  if (at == words.npos)
    return words;
  auto dim = indexedDimension(graph, node);
  return dim ? words.replace(at, place.size(), std::to_string(*dim)) : "";
}

/// Names the op of a failing check.
Artifact::ErrorSite siteOf(const Graph *graph, int64_t node) {
  if (!graph || node < 0 || size_t(node) >= graph->nodes.size())
    return {};
  const Node &n = graph->nodes[node];
  return {n.op, uint32_t(node), wordsForIndex(*graph, n)};
}

LogicalResult codegen(ModuleOp module, const ResolvedOptions &options,
                      Artifact &artifact, const Graph *graph) {
  auto describe = [&](int64_t node) { return siteOf(graph, node); };
  batchLaunches(module, artifact);
  lowerChecks(module, artifact.errorSites, describe);
  if (failed(
          lowerKernels(module, options.backend->bufferAlignment(), artifact)))
    return failure();
  joinKernels(module);
  if (failed(listSteps(module, options.tuning.facts, artifact)))
    return failure();
  partition(module);
  auto kernel = artifact.kernels.begin();
  for (auto [number, part] : llvm::enumerate(partsOf(module)))
    for ([[maybe_unused]] auto function : part.getOps<func::FuncOp>())
      (kernel++)->blob = uint32_t(number);
  return failableParallelForEach(
      module.getContext(), partsOf(module), [&](ModuleOp part) {
        return options.backend->lower(part, options.tuning.facts);
      });
}

/// An error once nobody wants the result any more.
Status checkWanted(const CompileOptions &options, Stage stage) {
  if (!options.stop || !*options.stop)
    return {};
  return Error{
      ErrorCode::CompileFailed, stage, "the compile was stopped", {}, {}, {}};
}

Status run(ModuleOp module, Stage last, const ResolvedOptions &options,
           Artifact &artifact, const Graph *graph, const AfterStage &after) {
  Diagnosis diagnosis(module.getContext());
  {
    Span span(Stage::Lower);
    if (failed(lowerOps(module, options.optimizations,
                        OwnLoops::of(options.tuning))) ||
        failed(checkContract(module, Stage::Lower)))
      return diagnosis.error(Stage::Lower, "lower the graph");
    after(Stage::Lower);
  }
  if (last == Stage::Lower)
    return {};
  if (Status wanted = checkWanted(options, Stage::Optimize); !wanted)
    return wanted;
  {
    Span span(Stage::Optimize);
    if (failed(optimize(module, optimizeOptions(options))) ||
        failed(checkContract(module, Stage::Optimize)))
      return diagnosis.error(Stage::Optimize, "optimize the graph");
    after(Stage::Optimize);
  }
  if (last == Stage::Optimize)
    return {};
  if (Status wanted = checkWanted(options, Stage::Codegen); !wanted)
    return wanted;
  Span span(Stage::Codegen);
  if (failed(codegen(module, options, artifact, graph)) ||
      failed(checkContract(module, Stage::Codegen)))
    return diagnosis.error(Stage::Codegen, "lower the kernels to LLVM");
  return {};
}

/// Writes <dir>/<name>.<stage>.mlir when dumps are wanted.
class Dumper {
public:
  explicit Dumper(const CompileOptions &options) : options(options) {}

  void write(Stage stage, const std::string &text,
             const std::string &suffix) const {
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
  /// `suffix`: of a part's file.
  void write(const llvm::Module &module, const std::string &suffix) const {
    if (!wanted())
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    write(Stage::Codegen, text, suffix);
  }
  bool wanted() const { return !options.dumpDir.empty(); }

private:
  const CompileOptions &options;
};

/// An object for each part of the module.
Result<std::vector<std::string>> emitObjects(ModuleOp module,
                                             const ResolvedOptions &options,
                                             const Dumper &dumper,
                                             bool hasKernels) {
  auto betweenPhases = [&] {
    if (options.betweenPhases)
      options.betweenPhases();
  };
  SmallVector<ModuleOp> parts = partsOf(module);
  if (!hasKernels)
    return std::vector<std::string>();
  bool isWhole = parts.size() == 1;
  std::vector<std::string> objects(parts.size());
  std::vector<Status> statuses(parts.size());
  auto emit = [&](size_t i) -> Status {
    if (Status wanted = checkWanted(options, Stage::Codegen); !wanted)
      return wanted;
    auto optimized = [&](const llvm::Module &code) {
      dumper.write(code, isWhole ? ".ll" : "." + std::to_string(i) + ".ll");
      if (isWhole)
        betweenPhases();
    };
    Result<std::string> object = options.backend->emitCode(
        parts[i], options.target, options.tuning.facts, optimized);
    if (!object)
      return object.takeError();
    objects[i] = std::move(*object);
    return {};
  };
  betweenPhases();
  parallelFor(module.getContext(), 0, parts.size(),
              [&](size_t i) { statuses[i] = emit(i); });
  for (Status &status : statuses)
    if (!status)
      return status.takeError();
  return objects;
}

const DialectRegistry &stageRegistry() {
  static const DialectRegistry *registry = [] {
    auto *made = new DialectRegistry;
    registerStages(*made);
    return made;
  }();
  return *registry;
}

} // namespace

Result<ResolvedOptions> resolve(const CompileOptions &options) {
  Result<const TargetBackend *> backend = findBackend(options.target.kind);
  if (!backend)
    return backend.takeError();
  ResolvedOptions resolved(options);
  resolved.backend = *backend;
  resolved.target = (*backend)->resolve(options.target);
  resolved.tuning = (*backend)->tuning(resolved.target);
  if (Status status =
          resolved.tuning.addRecipes(options.recipes, resolved.target);
      !status)
    return status.takeError();
  return resolved;
}

OptimizeOptions optimizeOptions(const ResolvedOptions &options) {
  OptimizeOptions made{options.backend, options.tuning, options.optimizations,
                       options.schedules};
  if (!options.optimizations.vectorize)
    made.tuning.facts.vector_bits = 0;
  return made;
}

Status runStages(ModuleOp module, Stage last, const ResolvedOptions &options,
                 Artifact *artifact) {
  Artifact unused;
  return run(module, last, options, artifact ? *artifact : unused, nullptr,
             [](Stage) {});
}

Result<Artifact> compileGraph(const Graph &graph,
                              const CompileOptions &options) {
  Result<ResolvedOptions> resolved = resolve(options);
  if (!resolved)
    return resolved.takeError();
  Dumper dumper(options);
  // Has threads once there is something for them to do.
  WorkPool threads(options.threads, options.threadEnds);
  MLIRContext context(stageRegistry(), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module;
  {
    Span span(Stage::Import);
    module = importGraph(graph, context);
  }
  dumper.write(Stage::Import, *module);

  Artifact artifact;
  artifact.compiler = compilerIdentity() + options.recipes.key();
  artifact.target = resolved->target.str();
  artifact.formulas = graph.formulas;
  artifact.symbols = uint32_t(graph.symbols.size());
  for (const ValueType &input : graph.inputs)
    artifact.inputs.push_back(input);
  for (const GraphOutput &output : graph.outputs) {
    artifact.results.push_back(graph.typeOf(output.value).tensor);
    artifact.donated.push_back(output.donated);
  }
  artifact.graphText = graph.str(SourceLines::Omit);
  auto after = [&](Stage stage) {
    dumper.write(stage, *module);
    // The parts that codegen makes are apart; all before is one walk.
    if (stage == Stage::Optimize && options.threads > 1)
      context.setThreadPool(threads);
  };
  if (Status status =
          run(*module, Stage::Codegen, *resolved, artifact, &graph, after);
      !status)
    return status.takeError();
  Span span(Stage::Codegen);
  auto objects =
      emitObjects(*module, *resolved, dumper, !artifact.kernels.empty());
  if (!objects)
    return objects.takeError();
  for (std::string &object : *objects)
    artifact.blobs.push_back(
        {resolved->backend->codeKind().str(), std::move(object)});
  if (Status status = compileRegions(artifact, graph, options); !status)
    return status.takeError();
  if (dumper.wanted())
    dumper.write(Stage::Codegen, artifact.listing(), ".steps");
  return artifact;
}

} // namespace ltc::compiler
