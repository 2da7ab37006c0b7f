//===- build_own.cpp - A program of its own for a size seen often ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program whose sizes are open serves a graph until it has run for the same
// sizes `static_after` times. Then lookup() asks for the graph, of which nobody
// has kept more than its key, and compile() has it compiled in the background.
//
//===----------------------------------------------------------------------===//
#include "device/plugin_loader.h"
#include "engine/engine.h"
#include "engine/resident.h"

#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

namespace ltc::runtime {

bool DeviceEngine::wantsOwnVersion(const Executable &executable) const {
  int64_t after = settings().static_after;
  if (!after)
    return false;
  auto &bound = static_cast<const BoundProgram &>(executable);
  return bound.runs >= after && !bound.replaced && background.hasRoom();
}

void DeviceEngine::askForOwnVersion(const Graph &graph, Hash128 key,
                                    const ExecutablePtr &executable) {
  auto &bound = static_cast<BoundProgram &>(*executable);
  bool isFixed = bound.symbols.empty() || graph.isDynamic();
  if (isFixed || background.add({key, graph, settings(), bound.program}))
    bound.replaced = true;
}

void DeviceEngine::buildOwnVersion(BackgroundCompiles::Request request) {
  static Counter &versions = counter("cache.own_versions");
  auto start = std::chrono::steady_clock::now();
  Result<DevicePtr> opened = open();
  if (!opened)
    return; // it was shut down meanwhile
  Outcome outcome;
  Result<ExecutablePtr> built =
      buildAlone(request.graph, request.key, *opened, outcome);
  if (background.stopping())
    return;
  if (!built) {
    log(LogLevel::Warn, Stage::Cache,
        "a size that was seen often keeps the program for all sizes: " +
            built.error().message);
    return;
  }
  ++state.builds;
  auto &own = static_cast<BoundProgram &>(**built);
  own.forAllSizes = std::move(request.forAllSizes);
  bool isLarge = own.needsMuchMemory();
  cache.improve(request.key, std::move(*built),
                size_t(settings().cache_memory_bytes));
  if (isLarge)
    releaseAfterBuild(siblingLibrary("libltc_compiler.so"));
  history.note(request.graph, request.key,
               {std::chrono::steady_clock::now() - start, !outcome.compiled,
                outcome.fault, /*open=*/false, settings().static_after});
  versions.add(); // last: who sees it finds the rest
}

} // namespace ltc::runtime
