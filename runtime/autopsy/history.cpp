//===- history.cpp - The graphs that an engine has met ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "autopsy/history.h"

#include "autopsy/records.h"

#include <algorithm>

namespace ltc::runtime {

namespace {

/// Two graphs that one line asked for are compared if they have anything in
/// common; others if they have half of it.
constexpr double likeEnough = 0.5;

size_t bytesOf(const Node &node) {
  size_t bytes = sizeof(Node) + node.op.size() +
                 node.arguments.size() * (sizeof(Argument) + 16);
  for (const TensorType &type : node.results)
    bytes += sizeof(TensorType) + 8 * type.dims.size();
  return bytes;
}

void sortUnique(std::vector<uint64_t> &values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// What two sorted lists share, as a part of the longer one.
double shared(const std::vector<uint64_t> &a, const std::vector<uint64_t> &b) {
  size_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j])
      ++common, ++i, ++j;
    else
      ++(a[i] < b[j] ? i : j);
  }
  size_t longer = std::max(a.size(), b.size());
  return longer ? double(common) / double(longer) : 0;
}

} // namespace

CompileHistory::KeptPtr CompileHistory::summarize(const Graph &graph,
                                                  uint64_t number) {
  auto kept = std::make_shared<Kept>();
  kept->graph = graph;
  kept->graph.outputs.clear();
  kept->content = kept->graph.hash();
  kept->graph.outputs = graph.outputs;
  kept->number = number;
  kept->bytes = sizeof(Kept);
  for (const Node &node : graph.nodes) {
    kept->bytes += bytesOf(node) + 16;
    kept->ops.push_back(Hasher().add(node.op).add(node.source).finish().low);
    if (node.source)
      kept->lines.push_back(node.source);
  }
  std::sort(kept->ops.begin(), kept->ops.end());
  sortUnique(kept->lines);
  return kept;
}

double CompileHistory::likeness(const Kept &a, const Kept &b) {
  // Also where another line made it: a hit in memory is not noted.
  if (a.content == b.content)
    return 1;
  double ops = shared(a.ops, b.ops);
  return a.lines.empty() || b.lines.empty()
             ? ops
             : (ops + shared(a.lines, b.lines)) / 2;
}

CompileHistory::KeptPtr CompileHistory::nearest(const Kept &graph) {
  std::deque<KeptPtr> candidates;
  {
    std::lock_guard lock(mutex);
    candidates = graphs;
  }
  KeptPtr best;
  double bestRank = 0;
  for (auto at = candidates.rbegin(); at != candidates.rend(); ++at) {
    const Kept &candidate = **at;
    bool sameEnd =
        graph.graph.endedBy && candidate.graph.endedBy == graph.graph.endedBy;
    double likeness = CompileHistory::likeness(graph, candidate);
    if (likeness == 0 || (likeness < likeEnough && !sameEnd))
      continue;
    // Of equally like ones the latest that one line asked for.
    double rank = likeness + (sameEnd ? 0.01 : 0);
    if (rank > bestRank) {
      bestRank = rank;
      best = *at;
    }
  }
  return best;
}

std::optional<CompileHistory::Met> CompileHistory::metBefore(Hash128 key) {
  std::lock_guard lock(mutex);
  auto found = met.find(key);
  return found == met.end() ? std::nullopt : std::optional(found->second);
}

void CompileHistory::keep(Hash128 key, KeptPtr graph) {
  std::lock_guard lock(mutex);
  if (met.insert_or_assign(key, Met{graph->number, graph->graph.endedBy})
          .second)
    metOrder.push_back(key);
  if (metOrder.size() > kMaxKeys) {
    met.erase(metOrder.front());
    metOrder.pop_front();
  }
  bytes += graph->bytes;
  graphs.push_back(std::move(graph));
  while (graphs.size() > 1 &&
         (graphs.size() > kMaxGraphs || bytes > kMaxBytes)) {
    bytes -= graphs.front()->bytes;
    graphs.pop_front();
  }
}

void CompileHistory::note(const Graph &graph, Hash128 key, const Event &event) {
  CompileRecord record;
  record.number = nextCompileNumber();
  record.key = key;
  record.ops = graph.nodes.size();
  record.seconds = std::chrono::duration<double>(event.took).count();
  record.fromDisk = event.fromDisk;
  record.open = event.open;
  KeptPtr kept = summarize(graph, record.number);
  GraphDifference &difference = record.difference;
  difference.source = graph.endedBy;
  if (event.runs) {
    difference.cause = CompileCause::OwnVersion;
    difference.what = "its sizes have been seen " + std::to_string(event.runs) +
                      " times, and get a program of their own";
    if (KeptPtr like = nearest(*kept)) {
      difference.earlier = like->graph.endedBy;
      record.comparedWith = like->number;
    }
  } else if (std::optional<Met> before = metBefore(key)) {
    difference.cause = CompileCause::Evicted;
    difference.earlier = before->endedBy;
    difference.what = "it was in memory before, and gave way to others";
    record.comparedWith = before->number;
  } else if (KeptPtr like = nearest(*kept)) {
    difference = compareGraphs(like->graph, graph);
    record.comparedWith = like->number;
  } else {
    difference.cause = CompileCause::FirstUse;
    difference.what = "nothing like it came before";
  }
  if (!event.diskFault.empty()) {
    difference.cause = CompileCause::DiskEntry;
    difference.what = "its entry on disk was of no use: " + event.diskFault;
  }
  record.source = sourceOf(difference.source);
  record.earlier = sourceOf(difference.earlier);
  record.endedAt = sourceOf(graph.endedBy);
  keep(key, std::move(kept));
  publish(std::move(record));
}

} // namespace ltc::runtime
