//===- program.cpp - An artifact loaded on a device -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/program.h"

#include "engine/expected_time.h"
#include "engine/resident.h"
#include "error_place.h"

#include "ltc/region_ops.h"
#include "ltc/resize.h"

#include <algorithm>

namespace ltc::runtime {

Program::Program(std::shared_ptr<Device> device, Artifact artifact,
                 ltc_program *handle)
    : device(std::move(device)), loaded(std::move(artifact)), handle(handle) {
  if (loaded.calls.empty() || this->device->takesAllCalls())
    return;
  bool areInParts = this->device->partForm().has_value();
  for (const Artifact::Call &call : loaded.calls)
    isOnHost.push_back(areInParts ||
                       !this->device->takes(call.graph.str(SourceLines::Omit)));
  if (std::ranges::count(isOnHost, true) == 0)
    isOnHost.clear();
}

Result<std::shared_ptr<Program>> Program::load(std::shared_ptr<Device> device,
                                               Artifact &&artifact,
                                               std::string_view bytes) {
  Result<ltc_program *> handle = device->load(bytes);
  if (!handle)
    return handle.takeError();
  return std::shared_ptr<Program>(
      new Program(std::move(device), std::move(artifact), *handle));
}

BoundProgram::BoundProgram(std::shared_ptr<Program> code,
                           std::vector<int64_t> values, const Graph &graph)
    : key(graph.hash()), program(std::move(code)), symbols(std::move(values)),
      endedBy(graph.endedBy), nodes(graph.nodes.size()) {
  for (const Node &node : graph.nodes)
    sources.push_back(node.source);
}

Source BoundProgram::sourceOfNode(uint32_t node) const {
  return node < sources.size() ? sourceOf(sources[node]) : Source();
}

/// The graph as it ran for these sizes; nothing if it cannot be had.
static std::optional<Graph> graphOfRun(Graph graph,
                                       std::span<const int64_t> symbols) {
  if (!graph.isDynamic())
    return graph;
  Result<Graph> fixed = graph.instantiate(symbols);
  return fixed ? std::optional(std::move(*fixed)) : std::nullopt;
}

static std::string typesOf(const Graph &graph, const Node &node) {
  std::string types;
  auto add = [&](ValueId value) {
    if (value != kNoValue)
      types += (types.empty() ? "" : ", ") + graph.typeOf(value).str();
  };
  for (const Argument &argument : node.arguments) {
    if (auto *one = std::get_if<ValueId>(&argument.value))
      add(*one);
    if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
      for (ValueId value : *list)
        add(value);
  }
  return types;
}

std::string BoundProgram::operandsOfNode(uint32_t node) const {
  std::optional<Graph> ran = graphThatRan();
  return ran && node < ran->nodes.size() ? typesOf(*ran, ran->nodes[node]) : "";
}

/// The site of a node in a region of a call, whose line is `call`.
static BoundProgram::Site innerSite(const Graph &call, size_t number,
                                    SourceId line) {
  std::optional<RegionNode> found = regionNode(call.nodes[0], number);
  if (!found)
    return {};
  const Node &node = found->region.nodes[found->node];
  std::vector<SourceId> lines = regionSources(line);
  return {node.op, typesOf(found->region, node),
          sourceOf(number < lines.size() ? lines[number] : line)};
}

std::optional<BoundProgram::Site> BoundProgram::siteOf(int64_t number) const {
  ErrorPlace place = errorPlace(artifact(), number);
  if (!place.call && place.op.empty())
    return std::nullopt;
  if (!place.call)
    return Site{place.op, operandsOfNode(place.node), sourceOfNode(place.node)};
  Site site{place.op, "", sourceOfNode(place.node)};
  std::optional<Graph> ran = graphOfRun(place.call->graph, symbols);
  if (!ran)
    return site;
  if (place.inner)
    return innerSite(*ran, *place.inner,
                     place.node < sources.size() ? sources[place.node] : 0);
  for (const ValueType &type : ran->inputs)
    site.operands += (site.operands.empty() ? "" : ", ") + type.str();
  return site;
}

size_t BoundProgram::bytesOfResults() const {
  size_t bytes = 0;
  for (const TensorType &result : results)
    bytes += result.bytes();
  return bytes;
}

bool BoundProgram::needsMuchMemory() const {
  return arenaBytes + bytesOfResults() >= kWorthReleasing;
}

std::optional<ThreadChoice::Time> BoundProgram::expectedTime() const {
  constexpr double bytes = 16; // that one thread reads or writes in 1 ns
  if (artifact().calls.empty())
    return std::nullopt;
  double time = double(arenaBytes + bytesOfResults()) / bytes;
  for (const Artifact::Call &call : artifact().calls)
    if (std::optional<Graph> ran = graphOfRun(call.graph, symbols))
      time += runtime::expectedTime(*ran);
  constexpr double most = 1e15;
  return ThreadChoice::Time(int64_t(std::min(time, most)));
}

bool BoundProgram::setSizes() {
  const Artifact &artifact = program->artifact();
  if (symbols.size() != artifact.symbols)
    return false;
  bool areSizes = true;
  auto typeOf = [&](TensorType type) {
    for (int64_t &dim : type.dims)
      if (isSymbolic(dim)) {
        dim = artifact.formulas[formulaNumber(dim)].evaluate(symbols).value_or(
            -1);
        areSizes &= dim >= 0;
      }
    return type;
  };
  for (const ValueType &input : artifact.inputs)
    inputs.push_back({typeOf(input.tensor), input.isScalar});
  for (const TensorType &result : artifact.results)
    results.push_back(typeOf(result));
  std::optional<int64_t> arena =
      areSizes ? artifact.arenaBytes(symbols) : std::nullopt;
  if (!arena)
    return false;
  arenaBytes = size_t(*arena);
  launches = artifact.launches();
  threads = ThreadChoice(expectedTime());
  return true;
}

Result<std::shared_ptr<BoundProgram>>
BoundProgram::sized(std::shared_ptr<BoundProgram> bound) {
  if (!bound->setSizes())
    return Error{ErrorCode::InvalidArgument,
                 Stage::Execute,
                 "the program cannot run with these values of its symbols",
                 "",
                 {},
                 ""};
  return bound;
}

Result<std::shared_ptr<BoundProgram>>
BoundProgram::bind(std::shared_ptr<Program> program,
                   std::vector<int64_t> symbols, const Graph &graph) {
  return sized(std::shared_ptr<BoundProgram>(
      new BoundProgram(std::move(program), std::move(symbols), graph)));
}

Result<std::shared_ptr<BoundProgram>>
BoundProgram::bind(const BoundProgram &like, std::vector<int64_t> symbols,
                   Hash128 key) {
  return sized(std::shared_ptr<BoundProgram>(
      new BoundProgram(like, std::move(symbols), key)));
}

} // namespace ltc::runtime

ltc::Result<ltc::ExecutablePtr> ltc::resize(const ExecutablePtr &executable,
                                            std::vector<int64_t> symbols,
                                            Hash128 key) {
  auto &bound = static_cast<const runtime::BoundProgram &>(*executable);
  auto other = runtime::BoundProgram::bind(bound, std::move(symbols), key);
  if (!other)
    return other.takeError();
  return ExecutablePtr(std::move(*other));
}
