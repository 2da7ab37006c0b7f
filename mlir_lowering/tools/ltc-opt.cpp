//===- ltc-opt.cpp - Look at a graph after any stage ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   ltc-opt graph.ltc --stop-after=lower    a dumped graph, printed as MLIR
//           --target=cpu                    for another kind of target
//           --cpu=x86-64-v3:+avx2,+fma      for another CPU than this machine's
//           --without=fuse                  without some optimizations
//           --recipes=dir                   tuned by files (docs/recipes.md)
//           --print-schedules               the numbers that each kernel got
//           --sizes=12,5                    for these values of its symbols
//           --print-calls                   its library calls, as graphs
//           --print-steps                   after codegen: what @main became
//           --print-code                    after codegen: what the kernels did
//           --mlir-print-debuginfo          with the user's lines
//   ltc-opt graph.ltc --emit=linalg         what a vendor's compiler is handed
//                                           (docs/hand-over.md); bytecode,
//                                           graph; stablehlo, tosa
//                                           (docs/egress.md)
//   ltc-opt --list-rows                     the ops that have a lowering
//   ltc-opt --list-egress                   how dialects say them
//   ltc-opt module.mlir --ltc-fuse --cse    single passes, as with mlir-opt;
//                                           --help lists them
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/partition.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/egress/egress.h"
#include "mlir_lowering/handover/linalg.h"
#include "mlir_lowering/import/import.h"
#include "mlir_lowering/lower/lower.h"
#include "mlir_lowering/ops/op_table.h"
#include "mlir_lowering/stages.h"
#include "mlir_lowering/target/target_backend.h"

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ltc::compiler;

static void registerEverything(DialectRegistry &registry) {
  registerLoweredDialects(registry);
  registry.insert<bufferization::BufferizationDialect, memref::MemRefDialect,
                  scf::SCFDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);

  registerCanonicalizerPass();
  registerCSEPass();
  registerLinalgElementwiseOpFusionPass();
  bufferization::registerOneShotBufferizePass();
  bufferization::registerEmptyTensorEliminationPass();
  bufferization::registerEmptyTensorToAllocTensorPass();
}

/// A graph's text, rather than a module's: says so after its comments.
static bool isGraph(StringRef text) {
  for (text = text.ltrim(); text.starts_with("//"); text = text.ltrim())
    text = text.split('\n').second;
  return text.starts_with("graph");
}

static int fail(const ltc::Error &error) {
  llvm::errs() << error.str() << '\n';
  return 1;
}

static std::unique_ptr<llvm::MemoryBuffer> readFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (file)
    return std::move(*file);
  llvm::errs() << path << ": " << file.getError().message() << '\n';
  return nullptr;
}

using Sizes = std::vector<int64_t>;

/// Of "12,5".
static ltc::Result<Sizes> readSizes(StringRef text) {
  Sizes sizes;
  for (StringRef one : llvm::split(text, ','))
    if (one.getAsInteger(10, sizes.emplace_back()))
      return ltc::Error{ltc::ErrorCode::InvalidArgument,
                        ltc::Stage::Graph,
                        "--sizes= takes a number for each symbol, with commas "
                        "between, not '" +
                            text.str() + "'",
                        "",
                        {},
                        ""};
  return sizes;
}

/// The graph for sizes that are given.
static ltc::Status close(ltc::Graph &graph, const Sizes &sizes) {
  if (sizes.empty())
    return {};
  if (sizes.size() != graph.symbols.size())
    return ltc::Error{ltc::ErrorCode::InvalidArgument,
                      ltc::Stage::Graph,
                      "--sizes= has " + std::to_string(sizes.size()) +
                          ", and the graph has " +
                          std::to_string(graph.symbols.size()) + " symbols",
                      "",
                      {},
                      ""};
  auto closed = graph.instantiate(sizes);
  if (!closed)
    return closed.takeError();
  graph = std::move(*closed);
  return graph.verify();
}

/// A valid graph, or nothing when what is wrong has been said.
static std::optional<ltc::Graph> readGraph(StringRef text, const Sizes &sizes) {
  auto graph = ltc::Graph::parse(std::string_view(text));
  ltc::Status valid = graph ? graph->verify() : graph.takeError();
  if (valid)
    valid = close(*graph, sizes);
  if (valid)
    return std::move(*graph);
  fail(valid.error());
  return std::nullopt;
}

static OwningOpRef<ModuleOp> read(StringRef path, const Sizes &sizes,
                                  MLIRContext &context) {
  auto file = readFile(path);
  if (!file)
    return nullptr;
  StringRef text = file->getBuffer();
  if (!isGraph(text))
    return parseSourceString<ModuleOp>(text, &context);
  auto graph = readGraph(text, sizes);
  return graph ? importGraph(*graph, context) : nullptr;
}

/// Prints what another compiler is handed.
static int emitFor(StringRef path, StringRef name, const Sizes &sizes) {
  auto form = ltc::loweredForm(std::string_view(name));
  if (!form) {
    llvm::errs() << "--emit= takes " << ltc::loweredFormNames() << ", not '"
                 << name << "'\n";
    return 1;
  }
  auto file = readFile(path);
  auto graph = file ? readGraph(file->getBuffer(), sizes) : std::nullopt;
  if (!graph)
    return 1;
  auto lowered = lowerGraph(*graph, *form);
  if (!lowered)
    return fail(lowered.error());
  llvm::outs() << *lowered;
  return 0;
}

struct Options {
  StringRef path = "-", last, emit;
  Sizes sizes;                 ///< of symbols
  ltc::CompileOptions compile; ///< the target is this machine unless told
  bool printCalls = false, printSchedules = false, printSteps = false,
       printCode = false, printLocations = false;
};

static int listRows() {
  for (const std::string &name : OpTable::get().names())
    llvm::outs() << name << '\n';
  return 0;
}

static int printCode(ModuleOp module, const ResolvedOptions &options) {
  for (ModuleOp part : partsOf(module)) {
    auto code =
        options.backend->emitCode(part, options.target, options.tuning.facts,
                                  [](const llvm::Module &) {});
    if (!code)
      return fail(code.error());
    llvm::outs() << *code;
  }
  return 0;
}

static int runStagesOf(const Options &options,
                       const ResolvedOptions &resolved) {
  StringRef last = options.last;
  DialectRegistry registry;
  registerEverything(registry);
  registerStages(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = read(options.path, options.sizes, context);
  if (!module)
    return 1;
  context.loadAllAvailableDialects();
  ltc::Artifact artifact;
  if (last != "import") {
    auto stage = llvm::StringSwitch<std::optional<ltc::Stage>>(last)
                     .Case("lower", ltc::Stage::Lower)
                     .Case("optimize", ltc::Stage::Optimize)
                     .Case("codegen", ltc::Stage::Codegen)
                     .Default(std::nullopt);
    if (!stage) {
      llvm::errs() << "--stop-after= takes import, lower, optimize or codegen, "
                      "not '"
                   << last << "'\n";
      return 1;
    }
    if (ltc::Status status =
            ltc::compiler::runStages(*module, *stage, resolved, &artifact);
        !status)
      return fail(status.error());
  }
  if (options.printSchedules)
    return 0; // the stage has done it
  if (options.printCalls)
    module->walk([](CallOp call) { llvm::outs() << exportCall(call).str(); });
  else if (options.printSteps)
    llvm::outs() << artifact.listing();
  else if (options.printCode)
    return printCode(*module, resolved);
  else
    module->print(llvm::outs(),
                  OpPrintingFlags().enableDebugInfo(options.printLocations));
  return 0;
}

/// Takes what is said of the compile out of the arguments.
static ltc::Status readOptions(SmallVectorImpl<char *> &arguments,
                               Options &options) {
  ltc::CompileOptions &compile = options.compile;
  ltc::Status status;
  llvm::erase_if(arguments, [&](StringRef argument) {
    if (argument.consume_front("--stop-after="))
      options.last = argument;
    else if (argument.consume_front("--emit="))
      options.emit = argument;
    else if (argument.consume_front("--sizes=")) {
      auto sizes = readSizes(argument);
      if (sizes)
        options.sizes = std::move(*sizes);
      else
        status = sizes.takeError();
    } else if (argument.consume_front("--target="))
      compile.target.kind = argument;
    else if (argument.consume_front("--cpu="))
      std::tie(compile.target.cpu, compile.target.features) =
          std::pair<std::string, std::string>(argument.split(':'));
    else if (argument.consume_front("--without=")) {
      auto rest = ltc::Optimizations::without(std::string_view(argument));
      if (rest)
        compile.optimizations = *rest;
      else
        status = rest.takeError();
    } else if (argument.consume_front("--recipes=")) {
      auto recipes = ltc::Recipes::read(argument.str());
      if (recipes)
        compile.recipes = std::move(*recipes);
      else
        status = recipes.takeError();
    } else if (argument == "--print-calls")
      options.printCalls = true;
    else if (argument == "--print-schedules")
      options.printSchedules = true;
    else if (argument == "--print-steps")
      options.printSteps = true;
    else if (argument == "--print-code")
      options.printCode = true;
    else
      return false;
    return true;
  });
  if (options.printSchedules && options.last.empty())
    options.last = "optimize";
  return status;
}

int main(int argc, char **argv) {
  Options options;
  SmallVector<char *> arguments(argv, argv + argc);
  if (ltc::Status status = readOptions(arguments, options); !status)
    return fail(status.error());
  for (StringRef argument : ArrayRef(arguments).drop_front()) {
    if (argument == "--list-rows")
      return listRows();
    else if (argument == "--list-egress")
      return listEgress(llvm::outs()), 0;
    else if (argument == "--mlir-print-debuginfo")
      options.printLocations = true;
    else if (!argument.starts_with("-"))
      options.path = argument;
  }
  if (!options.emit.empty())
    return emitFor(options.path, options.emit, options.sizes);
  auto resolved = resolve(options.compile);
  if (!resolved)
    return fail(resolved.error());
  if (options.printSchedules) {
    resolved->tuning.print(llvm::outs());
    resolved->schedules = &llvm::outs();
  }
  if (!options.last.empty())
    return runStagesOf(options, *resolved);
  DialectRegistry registry;
  registerEverything(registry);
  registerStages(registry); // to read what the stages print
  registerLowerPass(resolved->optimizations, OwnLoops::of(resolved->tuning));
  registerOptimizePasses(optimizeOptions(*resolved));
  return asMainReturnCode(MlirOptMain(int(arguments.size()), arguments.data(),
                                      "torch_ltc optimizer driver\n",
                                      registry));
}
