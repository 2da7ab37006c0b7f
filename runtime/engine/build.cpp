//===- build.cpp - From a graph to a loaded program -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/plugin_loader.h"
#include "engine/compile_progress.h"
#include "engine/engine.h"
#include "engine/expected_time.h"
#include "engine/hand_over.h"
#include "engine/resident.h"

#include "ltc/autopsy.h"
#include "ltc/compile_hooks.h"
#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"
#include "ltc/syncs.h"
#include "ltc/trace.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace ltc {
CompileHooks compileHooks;
} // namespace ltc

namespace ltc::runtime {

namespace {

/// A compile that takes longer is worth a line at level info.
constexpr std::chrono::seconds slowCompile(2);

/// Whose compiles give code back while they run, which takes 8 to 13 ms of
/// each: where many small graphs follow, a tenth of the time.
constexpr int64_t kFewGraphs = 4;

/// Writes <directory>/<hash>.ltc. A full disk never fails a program.
void dumpGraph(const Graph &graph, Hash128 key, const std::string &directory) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  std::string path = directory + "/" + key.str() + ".ltc";
  std::ofstream file(path, std::ios::trunc);
  file << graph.str();
  file.close();
  if (!file)
    log(LogLevel::Warn, Stage::Graph, "cannot write the dump " + path);
}

/// Types of an artifact and of its graph name formulas by numbers of their own.
bool isSame(const TensorType &made, const Artifact &artifact,
            const TensorType &wanted, const Graph &graph) {
  if (made.dtype != wanted.dtype || made.dims.size() != wanted.dims.size())
    return false;
  for (size_t i = 0; i < made.dims.size(); ++i) {
    int64_t dim = made.dims[i];
    bool known =
        !isSymbolic(dim) || formulaNumber(dim) < artifact.formulas.size();
    if (!known || graph.formulaOf(wanted.dims[i]) !=
                      (isSymbolic(dim) ? artifact.formulas[formulaNumber(dim)]
                                       : Formula(dim)))
      return false;
  }
  return true;
}

/// Our compiler promises this; a launch relies on it.
Status checkArtifact(const Artifact &artifact, const Graph &graph) {
  auto wrong = [](std::string_view what) {
    return Error{ErrorCode::Internal,
                 Stage::Codegen,
                 "the compiler made an artifact with other " +
                     std::string(what) + " than its graph",
                 "",
                 {},
                 ""};
  };
  if (artifact.symbols != graph.symbols.size())
    return wrong("symbols");
  if (artifact.inputs.size() != graph.inputs.size())
    return wrong("inputs");
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (artifact.inputs[i].isScalar != graph.inputs[i].isScalar ||
        !isSame(artifact.inputs[i].tensor, artifact, graph.inputs[i].tensor,
                graph))
      return wrong("inputs");
  if (artifact.results.size() != graph.outputs.size() ||
      artifact.donated.size() != graph.outputs.size())
    return wrong("results");
  std::vector<ValueType> types = graph.inputs;
  for (const Node &node : graph.nodes)
    for (const TensorType &type : node.results)
      types.push_back({type, false});
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::optional<uint32_t> &donated = artifact.donated[i];
    if (donated && donated != graph.outputs[i].donated)
      return wrong("donations");
    if (!isSame(artifact.results[i], artifact,
                types[graph.outputs[i].value].tensor, graph))
      return wrong("results");
  }
  return {};
}

/// Whether a graph that the compiler fails at is to run all the same. One for
/// sizes that vary has others to take its place.
bool mayFallBack(const Graph &graph, const CompileOptions &options,
                 const Error &error) {
  return error.code == ErrorCode::CompileFailed && !syncs::refusesFallback() &&
         options.optimizations.loops && !graph.isDynamic() && !options.stop;
}

/// What went wrong is in code that the compiler made, and here it makes none.
Result<Artifact> fallBack(Device &device, Compiler &compiler,
                          const Graph &graph, CompileOptions options) {
  options.optimizations = Optimizations::none();
  options.dumpName += ".calls"; // the dumps of what failed stay
  return compileFor(device, compiler, graph, options);
}

/// By the compiler, or by a test in its stead.
Result<Artifact> compileSeeded(Device &device, Compiler &compiler,
                               const Graph &graph,
                               const CompileOptions &options) {
  if (!compileHooks.seedGraph) [[likely]]
    return compileFor(device, compiler, graph, options);
  Graph seeded = graph;
  compileHooks.seedGraph(seeded);
  Result<Artifact> artifact = compileFor(device, compiler, seeded, options);
  if (artifact) {
    artifact->graphText = graph.str(SourceLines::Omit);
    compileHooks.seedArtifact(*artifact);
  }
  return artifact;
}

/// Adds where a reproducer lies.
void tellFailure(const Graph &graph, Error &error) {
  if (!compileHooks.failed || (error.code != ErrorCode::CompileFailed &&
                               error.code != ErrorCode::Internal))
    return;
  std::string more = compileHooks.failed(graph, error);
  if (!more.empty())
    error.hint += (error.hint.empty() ? "" : "; ") + more;
}

void tellFallback(const Graph &graph, const Error &error) {
  static Counter &fallbacks = counter("codegen.fallback");
  fallbacks.add();
  log(LogLevel::Warn, error.stage,
      "the compiler failed at a graph of " +
          std::to_string(graph.nodes.size()) +
          " ops, which run as calls of the library, one after the other, and "
          "slower (LTC_FALLBACK=error stops here instead): " +
          error.str());
}

} // namespace

ExecutablePtr DeviceEngine::lookup(Hash128 graphHash) {
  static Counter &hits = counter("cache.hit.memory");
  if (isForked())
    return nullptr; // launch() and compile() will say why
  ExecutablePtr executable = cache.find(graphHash);
  if (!executable || wantsOwnVersion(*executable))
    return nullptr;
  hits.add();
  return executable;
}

Result<ExecutablePtr> DeviceEngine::compile(const Graph &graph,
                                            std::span<const DimMark> marks,
                                            bool mayDefer) {
  static Counter &hits = counter("cache.hit.memory");
  if (isForked())
    return forkedError();
  Hash128 key = graph.hash();
  mayDefer &= !CompileWatch::isEntered();
  bool hit = false;
  Result<ExecutablePtr> executable = cache.findOrMake(
      key, size_t(settings().cache_memory_bytes),
      [&] {
        Result<ExecutablePtr> made = build(graph, key, marks, mayDefer);
        if (made && *made &&
            static_cast<const BoundProgram &>(**made).needsMuchMemory())
          releaseAfterBuild(siblingLibrary("libltc_compiler.so"));
        return made;
      },
      hit);
  // Another thread's call, which may have deferred it.
  if (hit && executable && !*executable && !mayDefer)
    return compile(graph, marks);
  if (!hit || !executable || !*executable)
    return executable;
  hits.add();
  if (wantsOwnVersion(**executable))
    askForOwnVersion(graph, key, *executable);
  return executable;
}

void DeviceEngine::clearCache() {
  cache.clear();
  families.clear();
  deferrals.clear();
}

Result<ExecutablePtr> DeviceEngine::build(const Graph &graph, Hash128 key,
                                          std::span<const DimMark> marks,
                                          bool mayDefer) {
  auto start = std::chrono::steady_clock::now();
  Result<DevicePtr> opened = open();
  if (!opened)
    return opened.takeError();
  if (Status status = graph.verify(); !status)
    return status.takeError();
  Outcome outcome;
  outcome.mayDefer = mayDefer;
  Result<ExecutablePtr> built =
      settings().dynamic != "off" && !graph.isDynamic() &&
              !(*opened)->partForm() // which has its sizes as numbers
          ? buildInFamily(graph, key, marks, *opened, outcome)
          : buildAlone(graph, key, *opened, outcome);
  if (built && *built && (outcome.compiled || outcome.fromDisk)) {
    ++state.builds;
    bool open = !static_cast<const BoundProgram &>(**built).symbols.empty();
    history.note(graph, key,
                 {std::chrono::steady_clock::now() - start, !outcome.compiled,
                  outcome.fault, open});
  }
  return built;
}

bool DeviceEngine::defersAgain(Hash128 graphHash) {
  return CompileWatch::isEntered() ? deferrals.isDeferred(graphHash)
                                   : deferrals.deferAgain(graphHash);
}

bool DeviceEngine::defers(const Graph &graph, Hash128 key, Hash128 structure,
                          const Outcome &outcome) {
  if (!outcome.mayDefer)
    return false;
  Deferrals::Costs costs{expectedRunTime(graph), expectedCompileTime(graph)};
  bool isDeferred = deferrals.defer(key, structure, costs, graph);
  if (logs(LogLevel::Debug, Stage::Cache)) {
    char text[160];
    std::snprintf(text, sizeof(text),
                  "%s a graph of %zu ops: a run call by call is reckoned at "
                  "%.3g ms, the compile at %.3g ms",
                  isDeferred ? "defers" : "compiles", graph.nodes.size(),
                  1e3 * costs.run, 1e3 * costs.compile);
    log(LogLevel::Debug, Stage::Cache, text);
  }
  return isDeferred;
}

Result<ExecutablePtr> DeviceEngine::buildAlone(const Graph &graph, Hash128 key,
                                               const DevicePtr &device,
                                               Outcome &outcome) {
  std::unique_ptr<DiskEntry> entry = diskEntry(graph, *device);
  if (entry)
    if (ProgramPtr found = loadFrom(*entry, graph, device, outcome))
      return bindProgram(found, graph.symbols, graph);
  if (defers(graph, key, key, outcome))
    return ExecutablePtr();
  Result<ProgramPtr> program =
      loadOrMake(entry.get(), graph, key, device, outcome);
  if (!program)
    return program.takeError();
  return bindProgram(*program, graph.symbols, graph);
}

bool DeviceEngine::usesDisk() {
  // Whoever wants dumps wants to see every stage; what was left out is no part
  // of the key.
  return settings().dump.empty() && settings().without.empty();
}

std::unique_ptr<DiskEntry> DeviceEngine::diskEntry(const Graph &graph,
                                                   const Device &device) {
  if (!usesDisk())
    return nullptr;
  return DiskEntry::of(diskState, graph, device.target(), compilerName());
}

std::string DeviceEngine::compilerName() {
  std::string identity = compilerSource.identity();
  Result<Recipes> recipes = Recipes::read(settings().recipes);
  return recipes && !identity.empty() ? identity + recipes->key() : "";
}

Result<std::shared_ptr<Program>>
DeviceEngine::loadOrMake(DiskEntry *entry, const Graph &graph, Hash128 key,
                         const DevicePtr &device, Outcome &outcome) {
  if (entry && entry->lock())
    if (ProgramPtr found = loadFrom(*entry, graph, device, outcome))
      return found;
  return make(entry, graph, key, device, outcome);
}

std::shared_ptr<Program> DeviceEngine::loadFrom(DiskEntry &entry,
                                                const Graph &graph,
                                                const DevicePtr &device,
                                                Outcome &outcome) {
  Span span(Stage::Cache);
  std::optional<DiskEntry::Found> found = entry.load();
  return found ? take(entry, std::move(*found), graph, device, outcome)
               : nullptr;
}

std::shared_ptr<Program>
DeviceEngine::take(DiskEntry &entry, DiskEntry::Found found, const Graph &graph,
                   const DevicePtr &device, Outcome &outcome) {
  static Counter &hits = counter("cache.hit.disk");
  if (Status status = checkArtifact(found.artifact, graph); !status) {
    entry.reject(status.error().message);
    return nullptr;
  }
  auto program = loadProgram(device, std::move(found.artifact), found.bytes);
  if (!program) {
    if (program.error().code != ErrorCode::OutOfMemory)
      entry.reject(program.error().message);
    return nullptr;
  }
  hits.add();
  outcome.fromDisk = true;
  return *program;
}

Result<std::shared_ptr<Program>>
DeviceEngine::loadProgram(const DevicePtr &device, Artifact artifact,
                          std::string_view bytes) {
  auto program = Program::load(device, std::move(artifact), bytes);
  if (program || program.error().code != ErrorCode::OutOfMemory)
    return program;
  cache.halve();
  // NOLINTNEXTLINE(bugprone-use-after-move): a load that fails takes nothing.
  return Program::load(device, std::move(artifact), bytes);
}

Result<std::shared_ptr<Program>>
DeviceEngine::make(DiskEntry *entry, const Graph &graph, Hash128 key,
                   const DevicePtr &device, Outcome &outcome) {
  static Counter &misses = counter("cache.miss");
  misses.add();
  if (entry)
    entry->reportFault();
  Result<Artifact> artifact = runCompiler(graph, key, *device, outcome);
  if (!artifact)
    return artifact.takeError();
  if (Status status = checkArtifact(*artifact, graph); !status)
    return status.takeError();
  std::string bytes = artifact->serialize();
  auto program = loadProgram(device, std::move(*artifact), bytes);
  if (!program)
    return program.takeError();
  // Only what the device takes is kept.
  outcome.compiled = true;
  if (entry)
    outcome.fault = entry->whatIsWrong();
  if (entry && !outcome.isLibraryOnly)
    entry->store((*program)->artifact(), bytes);
  return program;
}

/// Those that settings give, and the graph's name in dumps.
static Result<CompileOptions> optionsFor(const Graph &graph, Hash128 key,
                                         const Device &device) {
  CompileOptions options;
  Result<Optimizations> optimizations =
      Optimizations::without(settings().without);
  if (!optimizations)
    return optimizations.takeError();
  options.optimizations = *optimizations;
  options.optimizations.loops &= runsOurCode(device);
  Result<Recipes> recipes = Recipes::read(settings().recipes);
  if (!recipes)
    return recipes.takeError();
  options.recipes = std::move(*recipes);
  if (const std::string &directory = settings().dump; !directory.empty()) {
    options.dumpDir = directory;
    options.dumpName = key.str();
    dumpGraph(graph, key, directory);
  }
  options.threadEnds = discardFreeEndOfHeap;
  return options;
}

static void tellSlow(const Graph &graph, Hash128 key,
                     std::chrono::steady_clock::duration elapsed) {
  if (elapsed <= slowCompile)
    return;
  auto time = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed);
  log(LogLevel::Info, Stage::Codegen,
      "compiled graph " + key.str() + " of " +
          std::to_string(graph.nodes.size()) + " nodes in " +
          std::to_string(time.count()) + " ms");
}

Result<Artifact> DeviceEngine::runCompiler(const Graph &graph, Hash128 key,
                                           Device &device, Outcome &outcome) {
  static Counter &graphs = counter("codegen.graphs");
  Result<CompileOptions> found = optionsFor(graph, key, device);
  if (!found)
    return found.takeError();
  CompileOptions &options = *found;
  Result<Compiler *> compiler = compilerSource.load();
  if (!compiler)
    return compiler.takeError();
  auto release = [few = graphs.get() < kFewGraphs] {
    if (few)
      releaseCodeNearPeak(siblingLibrary("libltc_compiler.so"));
  };
  // What more than two gain was not measured. Behind a program that runs, and
  // where each graph has a thread already, one is enough.
  constexpr unsigned kMostThreads = 8;
  bool isAlone = background.isOwnThread() || settings().dry_run;
  options.threads = isAlone ? 1 : std::min(hostThreads(), kMostThreads);
  options.betweenPhases = release;
  std::optional<CompileProgress> progress;
  if (background.isOwnThread()) {
    options.stop = &background.stopping();
  } else {
    // A training run's peak would else be where its second graph is compiled.
    queue.push(std::make_unique<DiscardArena>(state.arena));
    progress.emplace(graph);
  }
  auto start = std::chrono::steady_clock::now();
  Result<Artifact> artifact = compileSeeded(device, **compiler, graph, options);
  if (!artifact && !graph.isDynamic() && !options.stop) {
    Error error = artifact.takeError();
    tellFailure(graph, error);
    artifact = std::move(error);
  }
  if (!artifact && mayFallBack(graph, options, artifact.error()))
    if (auto calls = fallBack(device, **compiler, graph, options)) {
      tellFallback(graph, artifact.error());
      outcome.isLibraryOnly = true;
      artifact = std::move(calls);
    }
  progress.reset();
  release();
  if (!artifact) {
    Error error = artifact.takeError();
    if (error.hint.empty() && options.dumpDir.empty())
      error.hint = "LTC_DUMP=<directory> keeps the graph, for ltc-run";
    return error;
  }
  graphs.add();
  tellSlow(graph, key, std::chrono::steady_clock::now() - start);
  return artifact;
}

} // namespace ltc::runtime
