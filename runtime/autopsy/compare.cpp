//===- compare.cpp - Where two graphs differ first --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "autopsy/align.h"
#include "ltc/autopsy.h"

#include <algorithm>

namespace ltc {

namespace {

using runtime::Extra;
using runtime::valueOf;

std::string dimText(int64_t dim) {
  return isSymbolic(dim) ? "?" : std::to_string(dim);
}

/// A graph that is walked beside another: what each of its values comes from.
class Walk {
public:
  Walk(const Graph &before, const Graph &now) : before(before), now(now) {}
  GraphDifference run();

private:
  std::optional<GraphDifference> compareNodes(size_t index);
  std::optional<GraphDifference> compareInput(const Node &old, const Node &node,
                                              const Argument &argument,
                                              ValueId oldInput, ValueId input);
  std::optional<GraphDifference>
  compareOperands(const Node &old, const Node &node, const Argument &argument,
                  const std::vector<ValueId> &was,
                  const std::vector<ValueId> &is);
  GraphDifference attributeDifference(const Node &old, const Node &node,
                                      const Argument &argument,
                                      const Attribute &was,
                                      const Attribute &is) const;
  GraphDifference typeDifference(GraphDifference difference,
                                 const TensorType &was,
                                 const TensorType &is) const;
  GraphDifference opDifference(size_t index) const;
  GraphDifference aliveness(const std::vector<Extra> &extra, bool isNew) const;
  GraphDifference outputDifference(ValueId output, bool isNew) const;
  GraphDifference donationDifference() const;

  const Graph &before, &now;
};

GraphDifference start(CompileCause cause, const Node &old, const Node &node,
                      std::string subject) {
  GraphDifference difference;
  difference.cause = cause;
  difference.op = node.op;
  difference.subject = std::move(subject);
  difference.source = node.source;
  difference.earlier = old.source;
  return difference;
}

void setValues(GraphDifference &difference, const std::string &thing,
               std::string was, std::string now) {
  difference.what = thing + " was " + was + " and is " + now;
  difference.was = std::move(was);
  difference.now = std::move(now);
}

/// The difference between two types, of which at least one part differs.
GraphDifference Walk::typeDifference(GraphDifference difference,
                                     const TensorType &was,
                                     const TensorType &is) const {
  std::string owner = difference.subject;
  if (was.dtype != is.dtype) {
    difference.cause = CompileCause::DType;
    setValues(difference, "the element type of " + owner,
              std::string(name(was.dtype)), std::string(name(is.dtype)));
    return difference;
  }
  difference.cause = CompileCause::Shape;
  if (was.dims.size() != is.dims.size()) {
    setValues(difference, owner, was.str(), is.str());
    return difference;
  }
  size_t dim = 0;
  while (was.dims[dim] == is.dims[dim])
    ++dim;
  setValues(difference, "dim " + std::to_string(dim) + " of " + owner,
            dimText(was.dims[dim]), dimText(is.dims[dim]));
  return difference;
}

std::optional<GraphDifference>
Walk::compareInput(const Node &old, const Node &node, const Argument &argument,
                   ValueId oldInput, ValueId input) {
  const ValueType &was = before.inputs[oldInput], &is = now.inputs[input];
  if (was == is)
    return std::nullopt;
  std::string subject = "input " + std::to_string(input) + ", '" +
                        argument.name + "' of " + node.op + ",";
  GraphDifference difference = start(CompileCause::DType, old, node, subject);
  if (was.isScalar != is.isScalar)
    setValues(difference, subject, was.str(), is.str());
  else
    difference = typeDifference(std::move(difference), was.tensor, is.tensor);
  if (was.isScalar && is.isScalar)
    setValues(difference,
              "the Python number '" + argument.name + "' of " + node.op,
              was.str(), is.str());
  difference.subject = "input " + std::to_string(input);
  return difference;
}

std::optional<GraphDifference>
Walk::compareOperands(const Node &old, const Node &node,
                      const Argument &argument, const std::vector<ValueId> &was,
                      const std::vector<ValueId> &is) {
  GraphDifference difference =
      start(CompileCause::Ops, old, node, argument.name);
  std::string thing = "'" + argument.name + "' of " + node.op;
  if (was.size() != is.size()) {
    setValues(difference, "the number of tensors in " + thing,
              std::to_string(was.size()), std::to_string(is.size()));
    return difference;
  }
  for (size_t i = 0; i < was.size(); ++i) {
    runtime::ValuePlace oldPlace = valueOf(before, was[i]),
                        place = valueOf(now, is[i]);
    if (oldPlace != place) {
      setValues(difference, thing, oldPlace.str(), place.str());
      return difference;
    }
    if (place.kind == runtime::ValuePlace::Input)
      if (auto found = compareInput(old, node, argument, was[i], is[i]))
        return found;
  }
  return std::nullopt;
}

/// The numbers that an attribute holds.
std::vector<int64_t> integersOf(const Attribute &attribute) {
  if (auto *one = std::get_if<int64_t>(&attribute))
    return {*one};
  if (auto *list = std::get_if<std::vector<int64_t>>(&attribute))
    return *list;
  return {};
}

/// The result dimension whose sizes are what the attribute was and is: then it
/// is a size that changed, and not another computation.
std::optional<std::pair<size_t, size_t>> resizedBy(const Node &old,
                                                   const Node &node,
                                                   const Attribute &was,
                                                   const Attribute &is) {
  std::vector<int64_t> oldNumbers = integersOf(was), numbers = integersOf(is);
  auto has = [](const std::vector<int64_t> &list, int64_t number) {
    return std::find(list.begin(), list.end(), number) != list.end();
  };
  for (size_t i = 0; i < std::min(old.results.size(), node.results.size());
       ++i) {
    const auto &oldDims = old.results[i].dims, &dims = node.results[i].dims;
    for (size_t d = 0; d < std::min(oldDims.size(), dims.size()); ++d)
      if (oldDims[d] != dims[d] && has(oldNumbers, oldDims[d]) &&
          has(numbers, dims[d]))
        return std::pair(i, d);
  }
  return std::nullopt;
}

GraphDifference Walk::attributeDifference(const Node &old, const Node &node,
                                          const Argument &argument,
                                          const Attribute &was,
                                          const Attribute &is) const {
  GraphDifference difference =
      start(CompileCause::Constant, old, node, argument.name);
  if (std::holds_alternative<DType>(was) || std::holds_alternative<DType>(is)) {
    difference.cause = CompileCause::DType;
  } else if (auto resized = resizedBy(old, node, was, is)) {
    auto [result, dim] = *resized;
    difference.cause = CompileCause::Shape;
    setValues(difference,
              "dim " + std::to_string(dim) + " of what " + node.op + " makes",
              dimText(old.results[result].dims[dim]),
              dimText(node.results[result].dims[dim]));
    difference.subject = "result " + std::to_string(result);
    return difference;
  }
  setValues(difference, "'" + argument.name + "' of " + node.op, str(was),
            str(is));
  return difference;
}

std::vector<ValueId> operandsOf(const Argument &argument) {
  if (auto *value = std::get_if<ValueId>(&argument.value))
    return {*value};
  return std::get<std::vector<ValueId>>(argument.value);
}

/// Two nodes of one op, or none if all that they say is equal.
std::optional<GraphDifference> Walk::compareNodes(size_t index) {
  const Node &old = before.nodes[index], &node = now.nodes[index];
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const Argument &was = old.arguments[i], &is = node.arguments[i];
    auto *oldAttribute = std::get_if<Attribute>(&was.value),
         *attribute = std::get_if<Attribute>(&is.value);
    if (oldAttribute && attribute) {
      if (*oldAttribute != *attribute)
        return attributeDifference(old, node, is, *oldAttribute, *attribute);
      continue;
    }
    if (oldAttribute || attribute) {
      GraphDifference difference = start(CompileCause::Ops, old, node, is.name);
      setValues(difference, "'" + is.name + "' of " + node.op,
                oldAttribute ? str(*oldAttribute) : "a tensor",
                attribute ? str(*attribute) : "a tensor");
      return difference;
    }
    if (auto found =
            compareOperands(old, node, is, operandsOf(was), operandsOf(is)))
      return found;
  }
  for (size_t i = 0; i < node.results.size(); ++i)
    if (old.results[i] != node.results[i]) {
      auto difference = typeDifference(
          start(CompileCause::Shape, old, node, "what " + node.op + " makes"),
          old.results[i], node.results[i]);
      difference.subject = "result " + std::to_string(i);
      return difference;
    }
  return std::nullopt;
}

bool haveOneForm(const Node &old, const Node &node) {
  return old.op == node.op && old.arguments.size() == node.arguments.size() &&
         old.results.size() == node.results.size();
}

GraphDifference Walk::opDifference(size_t index) const {
  GraphDifference difference;
  difference.cause = CompileCause::Ops;
  difference.subject = "op " + std::to_string(index);
  auto describe = [&](const Graph &graph, SourceId &line) {
    if (index >= graph.nodes.size()) {
      line = graph.endedBy;
      return std::string("the end");
    }
    line = graph.nodes[index].source;
    return graph.nodes[index].op;
  };
  std::string was = describe(before, difference.earlier),
              is = describe(now, difference.source);
  difference.op = index < now.nodes.size() ? is : was;
  setValues(difference, difference.subject, std::move(was), std::move(is));
  return difference;
}

/// Values that only one of two graphs has at its end.
GraphDifference Walk::aliveness(const std::vector<Extra> &extra,
                                bool isNew) const {
  const Graph &larger = isNew ? now : before, &smaller = isNew ? before : now;
  const Extra &first = extra[0];
  const Node &node = larger.nodes[first.node];
  SourceId other =
      first.twin ? smaller.nodes[*first.twin].source : smaller.endedBy;
  GraphDifference difference;
  difference.cause = CompileCause::Outputs;
  difference.op = node.op;
  difference.subject = "result " + std::to_string(first.result);
  difference.source = isNew ? node.source : other;
  difference.earlier = isNew ? other : node.source;
  difference.was = isNew ? "dropped" : "alive";
  difference.now = isNew ? "alive" : "dropped";
  difference.what = "a value of " + node.op;
  if (extra.size() > 1)
    difference.what += " and " + std::to_string(extra.size() - 1) + " other" +
                       (extra.size() > 2 ? "s" : "");
  bool many = extra.size() > 1;
  difference.what += isNew  ? many ? " are alive at the end, and were not"
                                   : " is alive at the end, and was not"
                     : many ? " were alive at the end, and are not any more"
                            : " was alive at the end, and is not any more";
  return difference;
}

/// The first output of `graph` that is none of `other`, whose values have the
/// same numbers.
std::optional<ValueId> outputNotIn(const Graph &graph, const Graph &other) {
  for (const GraphOutput &output : graph.outputs) {
    auto same = [&](const GraphOutput &o) { return o.value == output.value; };
    if (std::none_of(other.outputs.begin(), other.outputs.end(), same))
      return output.value;
  }
  return std::nullopt;
}

/// All nodes are equal, and one graph alone has this output.
GraphDifference Walk::outputDifference(ValueId output, bool isNew) const {
  const Graph &graph = isNew ? now : before;
  if (output >= graph.inputs.size()) {
    size_t result = output - graph.inputs.size(), node = 0;
    while (result >= graph.nodes[node].results.size())
      result -= graph.nodes[node++].results.size();
    return aliveness({{node, result, node}}, isNew);
  }
  GraphDifference difference;
  difference.cause = CompileCause::Outputs;
  difference.subject = "input " + std::to_string(output);
  difference.source = now.endedBy;
  difference.earlier = before.endedBy;
  difference.was = isNew ? "dropped" : "alive";
  difference.now = isNew ? "alive" : "dropped";
  difference.what =
      difference.subject + (isNew ? " is a result as it is, and was none"
                                  : " was a result as it is, and is none");
  return difference;
}

/// All nodes are equal, and as many values live on.
GraphDifference Walk::donationDifference() const {
  if (auto output = outputNotIn(now, before))
    return outputDifference(*output, /*isNew=*/true);
  if (auto output = outputNotIn(before, now))
    return outputDifference(*output, /*isNew=*/false);
  GraphDifference difference;
  difference.cause = CompileCause::Outputs;
  difference.source = now.endedBy;
  difference.earlier = before.endedBy;
  auto at = std::mismatch(before.outputs.begin(), before.outputs.end(),
                          now.outputs.begin(), now.outputs.end());
  if (at.first == before.outputs.end() || at.second == now.outputs.end() ||
      at.first->value != at.second->value) {
    difference.subject = "outputs";
    difference.what = "the same values are alive at the end, in another order";
    return difference;
  }
  bool kept = at.first->donated && !at.second->donated;
  uint32_t input = kept ? *at.first->donated : *at.second->donated;
  difference.subject = "input " + std::to_string(input);
  difference.was = kept ? "dropped" : "alive";
  difference.now = kept ? "alive" : "dropped";
  if (at.first->donated && at.second->donated)
    difference.was = difference.now = "dropped";
  runtime::FirstUse old = runtime::firstUse(before, input),
                    use = runtime::firstUse(now, input);
  if (use.node) {
    difference.op = use.node->op;
    difference.source = use.node->source;
  }
  if (old.node)
    difference.earlier = old.node->source;
  std::string thing =
      "the old value of input " + std::to_string(input) +
      (use.node ? ", '" + use.argument->name + "' of " + use.node->op + ","
                : "");
  difference.what =
      thing + (kept ? " is still held at the end, and was not"
                    : " was still held at the end, and is not any more");
  return difference;
}

GraphDifference Walk::run() {
  size_t shared = std::min(before.nodes.size(), now.nodes.size()), index = 0;
  std::optional<GraphDifference> found;
  while (index < shared && !found &&
         haveOneForm(before.nodes[index], now.nodes[index]))
    found = compareNodes(index++);
  if (found && found->cause != CompileCause::Ops)
    return *found;
  bool same =
      !found && index == before.nodes.size() && index == now.nodes.size();
  if (auto extra = runtime::outputsBeyond(before, now))
    return aliveness(*extra, /*isNew=*/true);
  if (auto extra = runtime::outputsBeyond(now, before))
    return aliveness(*extra, /*isNew=*/false);
  if (same)
    return donationDifference();
  return found ? *found : opDifference(index);
}

} // namespace

GraphDifference compareGraphs(const Graph &before, const Graph &now) {
  return Walk(before, now).run();
}

} // namespace ltc
