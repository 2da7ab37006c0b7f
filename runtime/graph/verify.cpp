//===- verify.cpp - What a graph must satisfy -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/graph.h"

#include <algorithm>
#include <set>

namespace ltc {

namespace {

bool isWord(std::string_view text, std::string_view extra) {
  if (text.empty())
    return false;
  for (char c : text) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '_';
    if (!letter && extra.find(c) == extra.npos)
      return false;
  }
  return true;
}

/// No dimension negative, and the bytes fit an int64_t.
bool isSane(const TensorType &type) {
  if (size_t(type.dtype) > size_t(DType::C32))
    return false;
  int64_t bytes = int64_t(byteSize(type.dtype));
  bool empty = false, overflow = false;
  for (int64_t dim : type.dims) {
    if (dim < 0)
      return false;
    empty |= dim == 0;
    overflow |= !empty && __builtin_mul_overflow(bytes, dim, &bytes);
  }
  return empty || !overflow;
}

class Verifier {
public:
  explicit Verifier(const Graph &graph) : graph(graph) {}

  Status run() {
    if (Status status = checkSymbols(); !status)
      return status;
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      if (Status status = checkInput(i); !status)
        return status;
    types = graph.inputs;
    for (const Node &node : graph.nodes) {
      if (Status status = checkNode(node); !status)
        return status;
      for (const TensorType &type : node.results)
        types.push_back({type, false});
    }
    for (const GraphOutput &output : graph.outputs)
      if (Status status = checkOutput(output); !status)
        return status;
    return {};
  }

private:
  static Error invalid(std::string message, const Node *node = nullptr) {
    Error error{ErrorCode::InvalidArgument,
                Stage::Graph,
                "the graph is not valid: " + std::move(message),
                "",
                {},
                ""};
    if (node) {
      error.op = node->op;
      error.source = sourceOf(node->source);
    }
    return error;
  }

  /// Formulas are what Graph::sizeOf makes; the hints give possible sizes.
  Status checkSymbols() const {
    for (int64_t hint : graph.symbols)
      if (hint < 0)
        return invalid("a symbol has the hint " + std::to_string(hint));
    for (size_t i = 0; i < graph.formulas.size(); ++i) {
      const Formula &formula = graph.formulas[i];
      auto earlier = graph.formulas.begin() + std::ptrdiff_t(i);
      if (formula.isConstant() ||
          formula.symbolCount() > graph.symbols.size() ||
          std::find(graph.formulas.begin(), earlier, formula) != earlier)
        return invalid("'" + formula.str() +
                       "' is a number, not distinct, or of unknown symbols");
      if (!formula.evaluate(graph.symbols))
        return invalid("'" + formula.str() +
                       "' does not fit a size for the hints");
    }
    return {};
  }

  bool isKnown(int64_t size) const {
    return !isSymbolic(size) || formulaNumber(size) < graph.formulas.size();
  }

  /// isSane() at the hints.
  bool isPossible(TensorType type) const {
    for (int64_t &dim : type.dims) {
      if (!isKnown(dim))
        return false;
      dim = *graph.formulaOf(dim).evaluate(graph.symbols);
    }
    return isSane(type);
  }

  Status checkAttribute(const Node &node, const Argument &argument) const {
    auto *attribute = std::get_if<Attribute>(&argument.value);
    auto *one = attribute ? std::get_if<int64_t>(attribute) : nullptr;
    auto *list =
        attribute ? std::get_if<std::vector<int64_t>>(attribute) : nullptr;
    bool known = !one || isKnown(*one);
    for (size_t i = 0; list && i < list->size(); ++i)
      known &= isKnown((*list)[i]);
    if (known)
      return {};
    return invalid("argument '" + argument.name + "' of node " +
                       nodeNumber(node) + " is a formula that does not exist",
                   &node);
  }

  Status checkInput(size_t index) const {
    const ValueType &type = graph.inputs[index];
    std::string label = "input %" + std::to_string(index);
    if (!isPossible(type.tensor))
      return invalid(label + " has no possible type");
    if (!type.isScalar)
      return {};
    DType dtype = type.tensor.dtype;
    bool known =
        dtype == DType::F64 || dtype == DType::I64 || dtype == DType::Bool;
    if (!known || !type.tensor.dims.empty())
      return invalid(label + " is a scalar of " + type.tensor.str() +
                     "; a scalar is f64, i64 or bool");
    return {};
  }

  Status checkOperand(const Node &node, const Argument &argument,
                      ValueId value) const {
    if (value < types.size())
      return {};
    return invalid("argument '" + argument.name + "' of node " +
                       nodeNumber(node) + " reads %" + std::to_string(value) +
                       ", which is not defined before it",
                   &node);
  }

  Status checkArgument(const Node &node, const Argument &argument) const {
    if (!isWord(argument.name, ""))
      return invalid("node " + nodeNumber(node) + " has an argument named '" +
                         argument.name + "'",
                     &node);
    if (node.find(argument.name) != &argument)
      return invalid("node " + nodeNumber(node) + " has two arguments '" +
                         argument.name + "'",
                     &node);
    if (Status status = checkAttribute(node, argument); !status)
      return status;
    if (auto *value = std::get_if<ValueId>(&argument.value))
      return checkOperand(node, argument, *value);
    if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
      for (ValueId value : *list)
        if (value != kNoValue)
          if (Status status = checkOperand(node, argument, value); !status)
            return status;
    return {};
  }

  Status checkNode(const Node &node) const {
    if (node.op.find("::") == node.op.npos || !isWord(node.op, ":."))
      return invalid("node " + nodeNumber(node) + " has the op name '" +
                         node.op + "'; wanted is 'namespace::name.overload'",
                     &node);
    if (node.results.empty())
      return invalid("node " + nodeNumber(node) + " has no result", &node);
    for (const TensorType &type : node.results)
      if (!isPossible(type))
        return invalid("a result of node " + nodeNumber(node) +
                           " has no possible type",
                       &node);
    for (const Argument &argument : node.arguments)
      if (Status status = checkArgument(node, argument); !status)
        return status;
    return {};
  }

  Status checkOutput(const GraphOutput &output) {
    std::string label = "output %" + std::to_string(output.value);
    if (output.value >= types.size())
      return invalid(label + " is not defined");
    const ValueType &type = types[output.value];
    if (type.isScalar)
      return invalid(label + " is a scalar; wanted is a tensor");
    if (!output.donated)
      return {};
    std::string input = "input %" + std::to_string(*output.donated);
    if (*output.donated >= graph.inputs.size())
      return invalid(label + " donates " + input + ", which does not exist");
    if (graph.inputs[*output.donated] != type)
      return invalid(label + " of " + type.str() + " donates " + input +
                     " of another type, " +
                     graph.inputs[*output.donated].str());
    if (!donated.insert(*output.donated).second)
      return invalid(input + " is donated twice");
    return {};
  }

  std::string nodeNumber(const Node &node) const {
    return std::to_string(&node - graph.nodes.data());
  }

  const Graph &graph;
  std::vector<ValueType> types; ///< of every value defined so far
  std::set<uint32_t> donated;
};

} // namespace

Status Graph::verify() const { return Verifier(*this).run(); }

} // namespace ltc
