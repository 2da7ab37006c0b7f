//===- build.cpp - From a graph to a loaded program -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/compile_progress.h"
#include "engine/engine.h"

#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"
#include "ltc/trace.h"

#include <filesystem>
#include <fstream>

namespace ltc::runtime {

namespace {

/// A compile that takes longer is worth a line at level info.
constexpr std::chrono::seconds slowCompile(2);

Target parseTarget(std::string_view text) {
  auto next = [&] {
    size_t colon = text.find(':');
    std::string part(text.substr(0, colon));
    text = colon == text.npos ? "" : text.substr(colon + 1);
    return part;
  };
  Target target;
  target.kind = next();
  target.triple = next();
  target.cpu = next();
  target.features = text;
  return target;
}

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
  if (artifact.inputs != graph.inputs)
    return wrong("inputs");
  if (artifact.results.size() != graph.outputs.size() ||
      artifact.donated.size() != graph.outputs.size())
    return wrong("results");
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::optional<uint32_t> &donated = artifact.donated[i];
    if (donated && donated != graph.outputs[i].donated)
      return wrong("donations");
    if (!artifact.results[i].isStatic())
      return Error{ErrorCode::Unsupported,
                   Stage::Execute,
                   "result " + std::to_string(i) + " has the type " +
                       artifact.results[i].str() +
                       "; results of dynamic shape cannot be allocated yet",
                   "",
                   {},
                   ""};
  }
  return {};
}

} // namespace

ExecutablePtr DeviceEngine::lookup(Hash128 graphHash) {
  static Counter &hits = counter("cache.hit.memory");
  if (isForked())
    return nullptr; // launch() and compile() will say why
  ExecutablePtr executable = cache.find(graphHash);
  if (executable)
    hits.add();
  return executable;
}

Result<ExecutablePtr> DeviceEngine::compile(const Graph &graph) {
  static Counter &hits = counter("cache.hit.memory");
  if (isForked())
    return forkedError();
  Hash128 key = graph.hash();
  bool hit = false;
  Result<ExecutablePtr> executable = cache.findOrMake(
      key, size_t(settings().cache_memory_bytes),
      [&] { return build(graph, key); }, hit);
  if (hit)
    hits.add();
  return executable;
}

Result<ExecutablePtr> DeviceEngine::build(const Graph &graph, Hash128 key) {
  auto start = std::chrono::steady_clock::now();
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  if (Status status = graph.verify(); !status)
    return status.takeError();
  auto note = [&](bool fromDisk, const std::string &fault = "") {
    ++state.builds;
    history.note(graph, key,
                 {std::chrono::steady_clock::now() - start, fromDisk, fault});
  };
  // Whoever wants dumps wants to see every stage; what was left out is no part
  // of the key.
  std::unique_ptr<DiskEntry> entry;
  if (settings().dump.empty() && settings().without.empty())
    entry = DiskEntry::of(diskState, graph, key, (*opened)->target(),
                          compilerSource.identity());
  ExecutablePtr found = entry ? loadFrom(*entry, graph, *opened) : nullptr;
  if (!found && entry && entry->lock())
    found = loadFrom(*entry, graph, *opened);
  if (found) {
    note(/*fromDisk=*/true);
    return found;
  }
  Result<ExecutablePtr> made = make(entry.get(), graph, key, *opened);
  if (made)
    note(/*fromDisk=*/false, entry ? entry->whatIsWrong() : "");
  return made;
}

ExecutablePtr DeviceEngine::loadFrom(DiskEntry &entry, const Graph &graph,
                                     const std::shared_ptr<Device> &device) {
  static Counter &hits = counter("cache.hit.disk");
  Span span(Stage::Cache);
  std::optional<DiskEntry::Found> found = entry.load();
  if (!found)
    return nullptr;
  if (Status status = checkArtifact(found->artifact, graph); !status) {
    entry.reject(status.error().message);
    return nullptr;
  }
  auto program =
      Program::load(device, std::move(found->artifact), found->bytes, graph);
  if (!program) {
    entry.reject(program.error().message);
    return nullptr;
  }
  hits.add();
  return *program;
}

Result<ExecutablePtr>
DeviceEngine::make(DiskEntry *entry, const Graph &graph, Hash128 key,
                   const std::shared_ptr<Device> &device) {
  static Counter &misses = counter("cache.miss");
  misses.add();
  if (entry)
    entry->reportFault();
  Result<Artifact> artifact = runCompiler(graph, key, device->target());
  if (!artifact)
    return artifact.takeError();
  if (Status status = checkArtifact(*artifact, graph); !status)
    return status.takeError();
  std::string bytes = artifact->serialize();
  auto program = Program::load(device, std::move(*artifact), bytes, graph);
  if (!program)
    return program.takeError();
  // Only what the device takes is kept.
  if (entry)
    entry->store((*program)->artifact(), bytes);
  return ExecutablePtr(std::move(*program));
}

Result<Artifact> DeviceEngine::runCompiler(const Graph &graph, Hash128 key,
                                           const std::string &target) {
  static Counter &graphs = counter("codegen.graphs");
  CompileOptions options;
  options.target = parseTarget(target);
  Result<Optimizations> optimizations =
      Optimizations::without(settings().without);
  if (!optimizations)
    return optimizations.takeError();
  options.optimizations = *optimizations;
  if (const std::string &directory = settings().dump; !directory.empty()) {
    options.dumpDir = directory;
    options.dumpName = key.str();
    dumpGraph(graph, key, directory);
  }
  Result<Compiler *> compiler = compilerSource.load();
  if (!compiler)
    return compiler.takeError();
  auto start = std::chrono::steady_clock::now();
  Result<Artifact> artifact = [&] {
    CompileProgress progress(graph);
    return (*compiler)->compile(graph, options);
  }();
  if (!artifact) {
    Error error = artifact.takeError();
    if (error.hint.empty() && options.dumpDir.empty())
      error.hint = "LTC_DUMP=<directory> keeps the graph, for ltc-run";
    return error;
  }
  graphs.add();
  auto elapsed = std::chrono::steady_clock::now() - start;
  if (elapsed > slowCompile)
    log(LogLevel::Info, Stage::Codegen,
        "compiled graph " + key.str() + " of " +
            std::to_string(graph.nodes.size()) + " nodes in " +
            std::to_string(
                std::chrono::duration_cast<std::chrono::milliseconds>(elapsed)
                    .count()) +
            " ms");
  return artifact;
}

} // namespace ltc::runtime
