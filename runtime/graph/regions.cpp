//===- regions.cpp - The nodes of a node's regions --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/region_ops.h"

#include "graph/graph_sizes.h"

#include <algorithm>

namespace ltc {

std::array<std::string_view, 2> regionsOf(const Node &node) {
  constexpr std::array<const char *, 2> branches = {"then", "otherwise"},
                                        loop = {"condition", "body"};
  std::array<std::string_view, 2> texts;
  if (!hasRegions(node))
    return texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Argument *argument = node.find((isLoop(node) ? loop : branches)[i]);
    auto *attribute =
        argument ? std::get_if<Attribute>(&argument->value) : nullptr;
    if (auto *text = attribute ? std::get_if<std::string>(attribute) : nullptr)
      texts[i] = *text;
  }
  return texts;
}

std::array<std::string *, 2> regionTexts(Node &node) {
  std::array<std::string *, 2> texts = {};
  auto known = regionsOf(node);
  for (Argument &argument : node.arguments)
    if (auto *attribute = std::get_if<Attribute>(&argument.value))
      if (auto *text = std::get_if<std::string>(attribute))
        for (size_t i = 0; i < known.size(); ++i)
          if (text->data() == known[i].data())
            texts[i] = text;
  return texts;
}

Result<Graph> regionIn(const Graph &graph, std::string_view text) {
  Result<Graph> region = Graph::parse(text);
  if (!region)
    return region;
  Graph table;
  table.formulas = graph.formulas;
  std::vector<int64_t> sizes;
  for (const Formula &formula : region->formulas)
    sizes.push_back(table.sizeOf(formula));
  forEachSize(*region, [&](int64_t &size) {
    if (isSymbolic(size))
      size = sizes[formulaNumber(size)];
  });
  region->formulas = std::move(table.formulas);
  region->symbols = graph.symbols;
  return region;
}

void noteRegionFormulas(Graph &graph, const Node &node) {
  for (std::string_view text : regionsOf(node)) {
    Result<Graph> region = Graph::parse(text);
    if (!region)
      continue;
    if (graph.symbols.empty())
      graph.symbols = region->symbols;
    for (const Formula &formula : region->formulas)
      graph.sizeOf(formula);
  }
}

size_t countNodes(const Graph &graph) { return placeOf(graph, SIZE_MAX); }

size_t placeOf(const Graph &graph, size_t node) {
  size_t count = std::min(node, graph.nodes.size());
  for (size_t i = 0; i < std::min(node, graph.nodes.size()); ++i)
    count += countRegionNodes(graph.nodes[i]);
  return count;
}

size_t countRegionNodes(const Node &node) {
  size_t count = 0;
  if (hasRegions(node))
    for (std::string_view text : regionsOf(node))
      if (Result<Graph> region = Graph::parse(text))
        count += countNodes(*region);
  return count;
}

std::optional<RegionNode> regionNode(const Node &node, size_t number) {
  for (std::string_view text : regionsOf(node)) {
    Result<Graph> region = Graph::parse(text);
    if (!region)
      return std::nullopt;
    for (uint32_t i = 0; i < region->nodes.size(); ++i) {
      if (number == 0)
        return RegionNode{std::move(*region), i};
      size_t inside = countRegionNodes(region->nodes[i]);
      if (number <= inside)
        return regionNode(region->nodes[i], number - 1);
      number -= 1 + inside;
    }
  }
  return std::nullopt;
}

std::vector<SourceId> nodeSources(const Graph &graph) {
  std::vector<SourceId> sources;
  for (const Node &node : graph.nodes) {
    sources.push_back(node.source);
    std::vector<SourceId> inside = regionSources(node.source);
    inside.resize(countRegionNodes(node));
    sources.insert(sources.end(), inside.begin(), inside.end());
  }
  return sources;
}

/// Takes the graph's lines from the front.
static void takeSources(Graph &graph, std::span<const SourceId> &sources) {
  auto take = [&](size_t count) {
    auto taken = sources.first(std::min(count, sources.size()));
    sources = sources.subspan(taken.size());
    return taken;
  };
  for (Node &node : graph.nodes) {
    if (auto own = take(1); !own.empty())
      node.source = own.front();
    if (size_t inside = countRegionNodes(node))
      node.source = withRegionSources(node.source, take(inside));
  }
}

Result<std::vector<Graph>> regionGraphs(const Node &node, SourceId call) {
  const std::vector<SourceId> lines = regionSources(call);
  std::span<const SourceId> rest = lines;
  std::vector<Graph> regions;
  for (std::string_view text : regionsOf(node)) {
    Result<Graph> region = Graph::parse(text);
    if (!region)
      return region.takeError();
    takeSources(*region, rest);
    regions.push_back(std::move(*region));
  }
  return regions;
}

} // namespace ltc
