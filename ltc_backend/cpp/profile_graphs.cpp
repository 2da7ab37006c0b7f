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

/// Each of its lines once, those with most nodes first.
JsonBuilder placesOf(const profile::Kernel &kernel,
                     const GraphDetails &details) {
  std::vector<std::pair<SourceId, size_t>> lines;
  for (uint32_t node : kernel.nodes) {
    SourceId place = details.nodes[node].place;
    if (sourceOf(place).file.empty())
      continue;
    auto line =
        std::ranges::find(lines, place, &std::pair<SourceId, size_t>::first);
    if (line == lines.end())
      lines.emplace_back(place, 1);
    else
      ++line->second;
  }
  std::ranges::stable_sort(lines, std::greater(),
                           [](const auto &line) { return line.second; });
  JsonBuilder list = JsonBuilder::list();
  for (const auto &[place, count] : lines)
    list.add(lineRow(place));
  return list;
}

JsonBuilder kernelRow(const GraphProfile &graph, size_t step, size_t launches) {
  const profile::Kernel &kernel = graph.details.kernels[step];
  JsonBuilder ops = JsonBuilder::list(), nodes = JsonBuilder::list();
  for (uint32_t node : kernel.nodes) {
    ops.add(Json(graph.details.nodes[node].op));
    nodes.add(Json(node));
  }
  bool isTimed = graph.timed && step < graph.total.size();
  double time = isTimed ? double(graph.total[step]) / double(graph.timed) : 0;
  return JsonBuilder::object()
      .add("graph", graph.key.str())
      .add("step", step)
      .add("name", kernel.name)
      .add("label", kernel.label)
      .add("kind", kernel.kind)
      .add("flops", kernel.flops)
      .add("bytes", kernel.bytes)
      .add("ops", ops)
      .add("places", placesOf(kernel, graph.details))
      .add("timed", graph.timed)
      .add("time", time)
      .add("fastest", isTimed ? graph.fastest[step] : 0)
      .add("launches", launches)
      .add("nodes", nodes)
      .add("total", time * double(launches));
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
