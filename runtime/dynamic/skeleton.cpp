//===- skeleton.cpp - A graph without the integers that may vary ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/skeleton.h"

#include "ltc/region_ops.h"

#include <algorithm>

namespace ltc::runtime {

namespace {

/// Where the walk is, for who wants to say so.
struct Place {
  const Node *node = nullptr; ///< null: an input
  size_t number = 0;          ///< of the input, or of the node
  std::string_view argument;  ///< empty: a dimension of a result
  size_t dim = 0;
  bool isInRegion = false;
};

/// Integers from here on stand for "to the end", and are no size.
constexpr int64_t kNoSize = int64_t(1) << 40;

/// In place of an integer that varies: no other is one of these.
constexpr uint64_t kAnySize = kNoSize - 1;

bool varies(int64_t value, IntegerKind kind) {
  int64_t least = kind == IntegerKind::Position ? 0 : 2;
  return isSymbolic(value) || (value >= least && value < kNoSize);
}

/// Hands every word of structure to visitor.structure(), and every integer that
/// may vary, by reference, to visitor.integer(value, kind, place).
template <typename GraphType, typename Visitor> class Walk {
public:
  Walk(GraphType &graph, Visitor &visitor, bool isRegion = false)
      : graph(graph), visitor(visitor) {
    place.isInRegion = isRegion;
  }

  void run() {
    visitor.structure(graph.inputs.size());
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      auto &input = graph.inputs[i];
      visitor.structure(input.isScalar);
      place = {nullptr, i, {}, 0, place.isInRegion};
      type(input.tensor, IntegerKind::InputSize);
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      place = {&graph.nodes[i], i, {}, 0, place.isInRegion};
      node(graph.nodes[i]);
    }
    for (const GraphOutput &output : graph.outputs)
      visitor.structure(output.value);
  }

private:
  template <typename TypeType> void type(TypeType &type, IntegerKind kind) {
    place.argument = {};
    visitor.structure(uint64_t(type.dtype) | type.dims.size() << 8);
    for (size_t i = 0; i < type.dims.size(); ++i) {
      place.dim = i;
      integer(type.dims[i], kind);
    }
  }

  template <typename Integer> void integer(Integer &value, IntegerKind kind) {
    if (!varies(value, kind)) {
      visitor.structure(uint64_t(value));
      return;
    }
    visitor.structure(kAnySize);
    visitor.integer(value, kind, place);
  }

  template <typename NodeType> void node(NodeType &node) {
    visitor.structure(node.op);
    visitor.structure(node.arguments.size());
    for (auto &argument : node.arguments)
      this->argument(node, argument);
    visitor.structure(node.results.size());
    for (auto &result : node.results)
      type(result, IntegerKind::ResultSize);
  }

  template <typename NodeType, typename ArgumentType>
  void argument(NodeType &node, ArgumentType &argument) {
    visitor.structure(argument.name);
    visitor.structure(argument.value.index());
    place.argument = argument.name;
    if (auto *operand = std::get_if<ValueId>(&argument.value)) {
      visitor.structure(*operand);
    } else if (auto *list =
                   std::get_if<std::vector<ValueId>>(&argument.value)) {
      visitor.structure(list->size());
      for (ValueId value : *list)
        visitor.structure(value);
    } else {
      attribute(node, argument, std::get<Attribute>(argument.value));
    }
  }

  template <typename NodeType, typename ArgumentType, typename AttributeType>
  void attribute(NodeType &node, ArgumentType &argument,
                 AttributeType &attribute) {
    visitor.structure(attribute.index());
    std::optional<IntegerKind> kind = kindOfInteger(node.op, argument.name);
    if (auto *value = std::get_if<int64_t>(&attribute); value && kind) {
      place.dim = 0;
      integer(*value, *kind);
    } else if (auto *list = std::get_if<std::vector<int64_t>>(&attribute);
               list && kind) {
      visitor.structure(list->size());
      for (size_t i = 0; i < list->size(); ++i) {
        place.dim = i;
        integer((*list)[i], *kind);
      }
    } else if (auto *text = std::get_if<std::string>(&attribute);
               text && hasRegions(node)) {
      region(*text, argument);
    } else {
      visitor.structure(argument);
    }
  }

  /// A graph as text, of which a graph that is changed gets a new one.
  template <typename TextType, typename ArgumentType>
  void region(TextType &text, ArgumentType &argument) {
    Result<Graph> inner = regionIn(graph, text);
    if (!inner)
      return visitor.structure(argument);
    Walk<Graph, Visitor>(*inner, visitor, /*isRegion=*/true).run();
    if constexpr (!std::is_const_v<GraphType>) {
      dropChanceDonations(*inner);
      text = inner->str(SourceLines::Omit);
    }
  }

  GraphType &graph;
  Visitor &visitor;
  Place place;
};

class Taker {
public:
  void structure(uint64_t word) { hasher.add(word); }
  void structure(const std::string &text) {
    hasher.add(std::string_view(text));
  }
  /// An attribute whose integers, if any, are structure: as a node's key has
  /// it.
  void structure(const Argument &argument) {
    hasher.add(Node{"", {argument}, {}, 0}.signature());
  }
  void integer(int64_t value, IntegerKind kind, const Place &) {
    result.integers.push_back(value);
    result.kinds.push_back(kind);
  }
  Skeleton finish() {
    result.key = hasher.finish();
    return std::move(result);
  }

private:
  Hasher hasher;
  Skeleton result;
};

/// What a visitor does that wants no structure.
struct IgnoreStructure {
  template <typename T> void structure(const T &) {}
};

using MapInteger = std::function<int64_t(int64_t value, size_t position)>;

struct Mapper : IgnoreStructure {
  explicit Mapper(const MapInteger &map) : map(map) {}
  void integer(int64_t &value, IntegerKind, const Place &) {
    value = map(value, next++);
  }
  const MapInteger &map;
  size_t next = 0;
};

/// Calls `found` for each position.
template <typename Found> struct Finder : IgnoreStructure {
  explicit Finder(Found found) : found(std::move(found)) {}
  void integer(int64_t, IntegerKind, const Place &place) {
    found(next++, place);
  }
  Found found;
  size_t next = 0;
};

std::string describe(const Place &place) {
  std::string dim = std::to_string(place.dim);
  if (!place.node)
    return "dim " + dim + " of input " + std::to_string(place.number) +
           (place.isInRegion ? " of a branch or a body" : "");
  std::string node =
      place.node->op + " (node " + std::to_string(place.number) + ")";
  if (place.argument.empty())
    return "dim " + dim + " of the result of " + node;
  return "argument '" + std::string(place.argument) + "' of " + node;
}

} // namespace

Skeleton skeletonOf(const Graph &graph) {
  Taker taker;
  Walk(graph, taker).run();
  return taker.finish();
}

void dropChanceDonations(Graph &open) {
  std::vector<const TensorType *> types;
  for (const ValueType &type : open.inputs)
    types.push_back(&type.tensor);
  for (const Node &node : open.nodes)
    for (const TensorType &result : node.results)
      types.push_back(&result);
  for (GraphOutput &output : open.outputs)
    if (output.donated && *types[*output.donated] != *types[output.value])
      output.donated.reset();
}

Graph openIntegers(const Graph &graph, std::vector<Formula> formulas,
                   std::vector<int64_t> hints, const MapInteger &map) {
  Graph changed = graph;
  changed.formulas = std::move(formulas);
  changed.symbols = std::move(hints);
  Mapper mapper(map);
  Walk(changed, mapper).run();
  dropChanceDonations(changed);
  return changed;
}

std::optional<size_t> positionOf(const Graph &graph, uint32_t input,
                                 uint32_t dim) {
  std::optional<size_t> position;
  Finder finder([&](size_t current, const Place &place) {
    if (!place.node && !place.isInRegion && place.number == input &&
        place.dim == dim)
      position = current;
  });
  Walk(graph, finder).run();
  return position;
}

std::string describeInteger(const Graph &graph, size_t position) {
  std::string text;
  Finder finder([&](size_t current, const Place &place) {
    if (current == position)
      text = describe(place);
  });
  Walk(graph, finder).run();
  return text;
}

} // namespace ltc::runtime
