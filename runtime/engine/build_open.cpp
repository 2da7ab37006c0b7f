//===- build_open.cpp - One program for sizes that vary ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first graph of a structure is compiled for its own sizes, unless others
// ran call by call before it, whose sizes count. The second one
// shows which of them vary: these are left open, as symbols and formulas, and
// what is compiled then serves every trace whose integers solve the formulas.
//
//===----------------------------------------------------------------------===//
#include "cache/key.h"
#include "engine/engine.h"

#include "dynamic/spread.h"
#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <algorithm>

namespace ltc::runtime {

namespace {

/// More say nothing new: the formulas that so many have in common are right.
constexpr size_t kMaxTraces = 16;

void note(Family &family, const Trace &trace) {
  if (family.traces.size() < kMaxTraces &&
      std::ranges::find(family.traces, trace) == family.traces.end())
    family.traces.push_back(trace);
}

/// Two traces of a version that another process made: its hints, and others
/// that no two symbols have in common.
void noteTracesOf(Family &family, const Graph &open, const Fit &fit) {
  std::vector<int64_t> values = open.symbols;
  for (int64_t step : {0, 7}) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += step * int64_t(2 * i + 1);
    Trace trace;
    for (uint32_t formula : fit.formulaAt)
      if (auto value = fit.formulas[formula].evaluate(values))
        trace.push_back(*value);
    if (trace.size() == fit.formulaAt.size())
      note(family, trace);
  }
}

/// What is marked static is part of a family's key, and what compiles leave
/// out or are tuned by.
Hash128 familyKey(const Graph &trace, const Skeleton &skeleton,
                  std::span<const DimMark> marks) {
  Hasher hasher;
  hasher.add(skeleton.key)
      .add(std::string_view(settings().without))
      .add(std::string_view(settings().recipes));
  for (const DimMark &mark : marks)
    if (mark.kind == DimMark::Kind::Static)
      if (std::optional<size_t> position =
              positionOf(trace, mark.input, mark.dim))
        hasher.add(*position).add(uint64_t(skeleton.integers[*position]));
  return hasher.finish();
}

/// Says once what made a version too many.
void tellLimit(const Graph &trace, const Skeleton &skeleton, Family &family) {
  static Counter &limits = counter("cache.dynamic_limits");
  limits.add();
  if (std::exchange(family.limitTold, true))
    return;
  const Fit &last = family.versions.back().fit;
  std::vector<int64_t> symbols;
  for (uint32_t position : last.symbolAt)
    symbols.push_back(skeleton.integers[position]);
  size_t position = 0;
  while (position < skeleton.integers.size() &&
         last.at(position).evaluate(symbols) == skeleton.integers[position])
    ++position;
  std::string cause = "other inputs may be written over than before";
  if (position < skeleton.integers.size())
    cause = describeInteger(trace, position) + " is " +
            std::to_string(skeleton.integers[position]) + ", where " +
            last.at(position).str() + " was expected";
  log(LogLevel::Warn, Stage::Cache,
      "a graph of " + std::to_string(trace.nodes.size()) +
          " ops has been compiled for sizes that vary " +
          std::to_string(family.versions.size()) +
          " times, and is compiled for each further size: " + cause +
          " (LTC_DYNAMIC_VERSIONS is the limit)");
}

/// Two traces may have had a formula by chance that no code can be made for:
/// others of further traces are tried, but not for ever.
void refuse(Family &family, Fit fit, const Graph &trace, const Error &error) {
  static Counter &refusals = counter("cache.dynamic_refusals");
  family.refused.push_back(std::move(fit));
  if (family.refused.size() > 1)
    return;
  refusals.add();
  // The compiler says so of what it knows that it cannot do.
  bool expected =
      error.message.find("not for dynamic sizes") != error.message.npos;
  log(expected ? LogLevel::Info : LogLevel::Warn, Stage::Cache,
      "a graph of " + std::to_string(trace.nodes.size()) +
          " ops is compiled for each size on its own: " +
          (error.op.empty() ? "" : error.op + ": ") + error.message);
}

/// What this trace and the earlier ones have in common, or else what its marks
/// say; without symbols if nothing varies.
Fit fitFor(const Graph &trace, const Skeleton &skeleton, const Family &family,
           std::span<const DimMark> marks) {
  if (family.traces.empty()) {
    std::optional<Fit> marked = fitOf(spreadMarks(trace, marks));
    return marked && marked->solve(skeleton.integers) ? *marked : Fit();
  }
  std::vector<Trace> traces = family.traces;
  traces.push_back(skeleton.integers);
  return fitTraces(traces, skeleton.kinds);
}

/// What a program may leave where it could take it over, rather than be
/// compiled again: parameters of a network are more, what happens to have a
/// result's size for one size of another is hardly ever.
constexpr size_t kWorthTakingOver = 1 << 20;

/// Whether a version takes over no input that the trace keeps, and little less
/// than it may.
bool mayTakeOver(const std::vector<GraphOutput> &version, const Graph &trace,
                 const std::vector<GraphOutput> &allowed) {
  size_t left = 0;
  for (size_t i = 0; i < version.size(); ++i) {
    if (version[i].donated == allowed[i].donated)
      continue;
    if (version[i].donated)
      return false;
    left += trace.inputs[*allowed[i].donated].tensor.bytes();
  }
  return left <= kWorthTakingOver;
}

/// The symbols' values with which a version runs this trace; nothing if its
/// formulas give other sizes, or it takes over other inputs.
std::optional<std::vector<int64_t>>
solve(const Fit &fit, const std::vector<GraphOutput> &outputs,
      const Graph &trace, const Skeleton &skeleton) {
  auto symbols = fit.solve(skeleton.integers);
  if (symbols && !mayTakeOver(outputs, trace, openGraph(trace, fit).outputs))
    symbols.reset();
  return symbols;
}

/// The graph of an entry whose sizes are open, and its formulas.
struct OpenEntry {
  Graph graph;
  Fit fit;
};

std::optional<OpenEntry> readOpen(const DiskEntry::Found &found) {
  Result<Graph> graph = Graph::parse(found.artifact.graphText);
  std::optional<Fit> fit = graph ? fitOf(*graph) : std::nullopt;
  if (!fit)
    return std::nullopt;
  return OpenEntry{std::move(*graph), std::move(*fit)};
}

} // namespace

Result<ExecutablePtr>
DeviceEngine::buildInFamily(const Graph &trace, Hash128 key,
                            std::span<const DimMark> marks,
                            const DevicePtr &device, Outcome &outcome) {
  Skeleton skeleton = skeletonOf(trace);
  Hash128 familysKey = familyKey(trace, skeleton, marks);
  std::shared_ptr<Family> family = families.of(familysKey);
  std::lock_guard lock(family->mutex);
  auto built = buildWith(
      {trace, key, marks, skeleton, familysKey, *family, device, outcome});
  families.measured(familysKey, *family);
  return built;
}

Result<ExecutablePtr> DeviceEngine::buildWith(const Request &request) {
  Result<ExecutablePtr> found = buildFromVersion(request);
  if (!found || *found)
    return found;
  const Graph &trace = request.trace;
  std::unique_ptr<DiskEntry> entry = diskEntry(trace, *request.device);
  ProgramPtr fixed =
      entry ? loadFrom(*entry, trace, request.device, request.outcome)
            : nullptr;
  if (!fixed) {
    found = buildFromDisk(request);
    if (!found || *found)
      return found;
    if (defers(trace, request.key, request.familysKey, request.outcome)) {
      note(request.family, request.skeleton.integers);
      return ExecutablePtr();
    }
    found = buildOpen(request);
    if (!found || *found)
      return found;
    Result<ProgramPtr> made = loadOrMake(entry.get(), trace, request.key,
                                         request.device, request.outcome);
    if (!made)
      return made.takeError();
    fixed = std::move(*made);
  }
  note(request.family, request.skeleton.integers);
  return bindProgram(std::move(fixed), {}, trace);
}

Result<ExecutablePtr> DeviceEngine::buildFromVersion(const Request &request) {
  static Counter &hits = counter("cache.dynamic_hits");
  for (Family::Version &version : request.family.versions) {
    auto symbols =
        solve(version.fit, version.outputs, request.trace, request.skeleton);
    if (!symbols)
      continue;
    ProgramPtr program = version.program.lock();
    if (!program) {
      Result<ProgramPtr> again = loadOrMakeOpen(request, version);
      if (!again)
        return again.takeError();
      program = std::move(*again);
      symbols = version.fit.solve(request.skeleton.integers);
    }
    hits.add();
    return bindProgram(std::move(program), std::move(*symbols), request.trace);
  }
  return ExecutablePtr();
}

Result<ExecutablePtr> DeviceEngine::buildOpen(const Request &request) {
  static Counter &opened = counter("cache.dynamic_versions");
  Family &family = request.family;
  auto limit = size_t(std::max<int64_t>(settings().dynamic_versions, 0));
  if (!family.refused.empty() && family.refused.size() >= limit)
    return ExecutablePtr();
  Family::Version version;
  version.fit = fitFor(request.trace, request.skeleton, family, request.marks);
  // The first of its kind, or known and evicted.
  if (version.fit.symbolAt.empty())
    return ExecutablePtr();
  if (std::ranges::find(family.refused, version.fit) != family.refused.end())
    return ExecutablePtr();
  if (family.versions.size() >= limit) {
    if (!family.versions.empty())
      tellLimit(request.trace, request.skeleton, family);
    return ExecutablePtr();
  }
  Result<ProgramPtr> program = loadOrMakeOpen(request, version);
  if (!program) {
    // What was only marked may vary in another way than was thought.
    if (!family.traces.empty())
      refuse(family, std::move(version.fit), request.trace, program.error());
    return ExecutablePtr();
  }
  opened.add();
  note(family, request.skeleton.integers);
  auto symbols = *version.fit.solve(request.skeleton.integers);
  family.versions.push_back(std::move(version));
  return bindProgram(std::move(*program), std::move(symbols), request.trace);
}

std::unique_ptr<DiskEntry>
DeviceEngine::familyEntry(const Request &request,
                          const std::vector<GraphOutput> &outputs) {
  if (!usesDisk())
    return nullptr;
  return DiskEntry::ofFamily(diskState, request.skeleton.key, outputs,
                             request.device->target(), compilerName());
}

Result<ExecutablePtr> DeviceEngine::buildFromDisk(const Request &request) {
  static Counter &hits = counter("cache.dynamic_hits");
  Family &family = request.family;
  const std::vector<GraphOutput> &outputs = request.trace.outputs;
  if (!family.diskAsked.insert(familyHash(request.skeleton.key, outputs))
           .second)
    return ExecutablePtr();
  std::unique_ptr<DiskEntry> entry = familyEntry(request, outputs);
  std::optional<DiskEntry::Found> found = entry ? entry->load() : std::nullopt;
  std::optional<OpenEntry> open = found ? readOpen(*found) : std::nullopt;
  if (!open)
    return ExecutablePtr();
  noteTracesOf(family, open->graph, open->fit);
  auto symbols =
      solve(open->fit, open->graph.outputs, request.trace, request.skeleton);
  ProgramPtr program;
  if (symbols)
    program =
        take(*entry, std::move(*found), openGraph(request.trace, open->fit),
             request.device, request.outcome);
  family.versions.push_back(
      {std::move(open->fit), std::move(open->graph.outputs), program});
  if (!program)
    return ExecutablePtr();
  hits.add();
  return bindProgram(std::move(program), std::move(*symbols), request.trace);
}

Result<std::shared_ptr<Program>>
DeviceEngine::loadOrMakeOpen(const Request &request, Family::Version &version) {
  Graph open = openGraph(request.trace, version.fit);
  // What is made again takes over no more than before: traces go by that.
  if (!version.outputs.empty())
    open.outputs = version.outputs;
  std::unique_ptr<DiskEntry> entry = familyEntry(request, open.outputs);
  // Another process may have made one that serves this trace.
  if (entry && entry->lock()) {
    std::optional<DiskEntry::Found> found = entry->load();
    std::optional<OpenEntry> other = found ? readOpen(*found) : std::nullopt;
    if (other && solve(other->fit, other->graph.outputs, request.trace,
                       request.skeleton))
      if (ProgramPtr program = take(*entry, std::move(*found),
                                    openGraph(request.trace, other->fit),
                                    request.device, request.outcome)) {
        version = {std::move(other->fit), std::move(other->graph.outputs),
                   program};
        return program;
      }
  }
  if (Status status = open.verify(); !status)
    return status.takeError();
  Result<ProgramPtr> program =
      make(entry.get(), open, open.hash(), request.device, request.outcome);
  if (program) {
    version.outputs = std::move(open.outputs);
    version.program = *program;
  }
  return program;
}

} // namespace ltc::runtime
