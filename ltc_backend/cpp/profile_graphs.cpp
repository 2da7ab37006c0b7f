//===- cpp/profile_graphs.cpp - Graphs and their kernels in profile.json --===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/profile_rows.h"

#include "ltc/autopsy.h"

#include <algorithm>
#include <map>

namespace ltc::backend {
namespace {
using profile::GraphDetails;
using profile::GraphProfile;
using profile::NodeValue;
using profile::Run;

/// Each once, those with most nodes first.
template <typename T> struct Counted {
  std::vector<std::pair<T, size_t>> items;

  void add(const T &item) {
    auto found = std::ranges::find(items, item, &std::pair<T, size_t>::first);
    found == items.end() ? void(items.emplace_back(item, 1))
                         : void(++found->second);
  }
};

JsonBuilder placesOf(const profile::Kernel &kernel,
                     const GraphDetails &details) {
  Counted<SourceId> lines;
  for (uint32_t node : kernel.nodes)
    if (!sourceOf(details.nodes[node].place).file.empty())
      lines.add(details.nodes[node].place);
  std::ranges::stable_sort(lines.items, std::greater(),
                           [](const auto &item) { return item.second; });
  JsonBuilder list = JsonBuilder::list();
  for (const auto &[place, count] : lines.items)
    list.add(lineRow(place));
  return list;
}

/// Its name for people.
std::string labelOf(const profile::Kernel &kernel,
                    const GraphDetails &details) {
  if (kernel.kind == "call" || kernel.kind == "copy")
    return kernel.name;
  constexpr size_t kShown = 4;
  Counted<std::string_view> ops;
  for (uint32_t node : kernel.nodes) {
    std::string_view op = details.nodes[node].op;
    ops.add(op.starts_with("aten::") ? op.substr(6) : op);
  }
  std::string names;
  for (size_t i = 0; i < std::min(kShown, ops.items.size()); ++i)
    names += (i ? ", " : "") + std::string(ops.items[i].first);
  if (ops.items.size() > kShown)
    names += ", … " + std::to_string(ops.items.size() - kShown) + " more";
  return kernel.name + " (" + names + ")";
}

JsonBuilder kernelRow(const GraphProfile &graph, size_t step, size_t launches) {
  const profile::Kernel &kernel = graph.details.kernels[step];
  JsonBuilder ops = JsonBuilder::list();
  for (uint32_t node : kernel.nodes)
    ops.add(Json(graph.details.nodes[node].op));
  bool isTimed = graph.timed && step < graph.total.size();
  double time = isTimed ? double(graph.total[step]) / double(graph.timed) : 0;
  return JsonBuilder::object()
      .add("graph", graph.key.str())
      .add("step", step)
      .add("name", kernel.name)
      .add("kind", kernel.kind)
      .add("flops", kernel.flops)
      .add("bytes", kernel.bytes)
      .add("ops", ops)
      .add("places", placesOf(kernel, graph.details))
      .add("timed", graph.timed)
      .add("time", time)
      .add("fastest", isTimed ? graph.fastest[step] : 0)
      .add("launches", launches)
      .add("total", time * double(launches))
      .add("label", labelOf(kernel, graph.details));
}

/// A value that stands in memory.
JsonBuilder valueRow(const NodeValue &value, const GraphDetails &details) {
  bool isCopy = value.node == NodeValue::kNone;
  profile::GraphNode node =
      isCopy ? profile::GraphNode() : details.nodes[value.node];
  return JsonBuilder::object()
      .add("op", node.op)
      .add("place", lineRow(node.place))
      .add("bytes", value.bytes);
}

void addProgram(JsonBuilder &row, const GraphProfile &graph, size_t launches) {
  const GraphDetails &details = graph.details;
  JsonBuilder kernels = JsonBuilder::list(), outputs = JsonBuilder::list(),
              atPeak = JsonBuilder::list();
  for (size_t step = 0; step < details.kernels.size(); ++step)
    kernels.add(kernelRow(graph, step, launches));
  for (size_t i = 0; i < details.results.size(); ++i) {
    profile::HeldResult held;
    if (i < graph.held.size())
      held = graph.held[i];
    outputs.add(valueRow(details.results[i], details)
                    .add("seen", held.seen)
                    .add("held", held.held));
  }
  for (const NodeValue &value : details.atPeak)
    atPeak.add(valueRow(value, details));
  row.add("text", details.text)
      .add("listing", details.listing)
      .add("place", lineRow(details.endedBy))
      .add("arena", details.arena)
      .add("kernels", kernels)
      .add("outputs", outputs)
      .add("peak_step", details.peakStep)
      .add("at_peak", atPeak);
}

JsonBuilder compilesOf(const Hash128 &key,
                       const std::vector<CompileRecord> &records) {
  JsonBuilder list = JsonBuilder::list();
  for (const CompileRecord &record : records)
    if (record.key == key)
      list.add(JsonBuilder::object()
                   .add("cause", name(record.difference.cause))
                   .add("what", record.difference.what)
                   .add("remedy", record.remedy())
                   .add("seconds", record.seconds)
                   .add("from_disk", record.fromDisk)
                   .add("text", record.str())
                   .add("needed_by", lineRow(record.endedAt)));
  return list;
}

/// The runs of one graph.
struct Runs {
  const Run *first = nullptr;
  size_t launches = 0, interpreted = 0;
  int64_t running = 0;
};

std::vector<Runs> runsByGraph(const std::vector<Run> &runs) {
  std::map<std::string, Runs> graphs;
  for (const Run &run : runs) {
    Runs &graph = graphs[run.key.str()];
    graph.first = &run;
    ++graph.launches;
    graph.running += timeOf(run);
    graph.interpreted += run.isInterpreted;
  }
  std::vector<Runs> sorted;
  for (const auto &[key, graph] : graphs)
    sorted.push_back(graph);
  std::ranges::stable_sort(sorted, std::greater(), &Runs::running);
  return sorted;
}

} // namespace

JsonBuilder graphRows(const profile::Profile &profile) {
  const std::vector<GraphProfile> &programs = profile.kernels.graphs;
  std::vector<CompileRecord> records = compileRecords();
  JsonBuilder list = JsonBuilder::list();
  for (const Runs &graph : runsByGraph(profile.runs)) {
    const Run &run = *graph.first;
    JsonBuilder row = JsonBuilder::object();
    row.add("key", run.key.str())
        .add("ops", run.ops)
        .add("inputs", run.inputs)
        .add("results", run.results)
        .add("launches", graph.launches)
        .add("running", graph.running)
        .add("interpreted", graph.interpreted)
        .add("compiles", compilesOf(run.key, records));
    auto program = std::ranges::find(programs, run.key, &GraphProfile::key);
    addProgram(row, program == programs.end() ? GraphProfile() : *program,
               graph.launches);
    list.add(row);
  }
  return list;
}

} // namespace ltc::backend
