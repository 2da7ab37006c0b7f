//===- flops.cpp - How many operations a node is ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "graph/flops.h"

#include "ltc/op_facts.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace ltc {

namespace {

using Dims = std::span<const int64_t>;

double product(Dims dims) {
  double all = 1;
  for (int64_t dim : dims)
    all *= double(dim);
  return all;
}

/// A node beside the types of all values.
struct Call {
  const Node &node;
  std::span<const ValueType> types;

  /// Of the first of these arguments that is a tensor; none if there is none.
  Dims dimsOf(std::initializer_list<std::string_view> names) const {
    for (std::string_view name : names)
      if (const Argument *argument = node.find(name))
        if (auto *value = std::get_if<ValueId>(&argument->value))
          if (*value != kNoValue && !types[*value].isScalar)
            return types[*value].tensor.dims;
    return {};
  }
  Dims result() const {
    return node.results.empty() ? Dims() : Dims(node.results[0].dims);
  }
  bool isBackward() const {
    return node.op.find("backward") != std::string::npos;
  }
};

/// Each element of the result is a sum over the last dimension of the first
/// matrix.
double ofMatrices(const Call &call) {
  Dims first = call.dimsOf({"mat1", "batch1", "input", "self"});
  if (first.empty())
    return 0;
  double sums = product(call.result());
  if (call.node.op == "aten::addbmm")
    sums *= double(first[0]);
  return 2 * sums * double(first.back());
}

/// Each element of the output, or in a transposed convolution of the input, is
/// multiplied by a filter; backward does as much for each gradient.
double ofConvolution(const Call &call) {
  Dims weight = call.dimsOf({"weight"});
  if (weight.empty())
    return 0;
  bool isTransposed = false;
  size_t gradients = 1;
  for (const Argument &argument : call.node.arguments) {
    auto *attribute = std::get_if<Attribute>(&argument.value);
    if (!attribute)
      continue;
    if (auto *flag = std::get_if<bool>(attribute);
        flag && argument.name == "transposed")
      isTransposed = *flag;
    if (auto *mask = std::get_if<std::vector<bool>>(attribute);
        mask && argument.name == "output_mask")
      gradients = size_t(std::count(
          mask->begin(),
          mask->begin() + std::min<ptrdiff_t>(2, mask->end() - mask->begin()),
          true));
  }
  Dims visited = isTransposed        ? call.dimsOf({"input", "self"})
                 : call.isBackward() ? call.dimsOf({"grad_output"})
                                     : call.result();
  return 2 * double(gradients) * product(visited) * product(weight) /
         double(std::max<int64_t>(weight[0], 1));
}

/// Two products of length by length, and five of them backward.
double ofAttention(const Call &call) {
  Dims query = call.dimsOf({"query"}), key = call.dimsOf({"key"});
  if (query.size() < 2 || key.size() < 2)
    return 0;
  double products = call.isBackward() ? 5 : 2;
  return 2 * products * product(query) * double(key[key.size() - 2]);
}

/// Of three matrices the root of their sizes multiplied is m * k * n.
double ofOtherProducts(const Call &call) {
  std::vector<double> sizes;
  forOperands(call.node, [&](ValueId value) {
    if (!call.types[value].isScalar)
      sizes.push_back(product(call.types[value].tensor.dims));
  });
  for (const TensorType &type : call.node.results)
    sizes.push_back(product(type.dims));
  sizes.resize(std::max<size_t>(sizes.size(), 3), 1);
  std::ranges::sort(sizes, std::greater());
  return 2 * std::sqrt(sizes[0] * sizes[1] * sizes[2]);
}

bool isMatrixProduct(std::string_view op) {
  for (std::string_view name :
       {"mm", "addmm", "bmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot",
        "linear", "matmul", "_addmm_activation"})
    if (op == "aten::" + std::string(name))
      return true;
  return false;
}

} // namespace

void forOperands(const Node &node, const std::function<void(ValueId)> &f) {
  auto visit = [&](ValueId value) {
    if (value != kNoValue)
      f(value);
  };
  for (const Argument &argument : node.arguments)
    if (auto *one = std::get_if<ValueId>(&argument.value))
      visit(*one);
    else if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
      std::ranges::for_each(*list, visit);
}

std::vector<ValueType> valueTypes(const Graph &graph) {
  std::vector<ValueType> types = graph.inputs;
  for (const Node &node : graph.nodes)
    for (const TensorType &type : node.results)
      types.push_back({type, false});
  return types;
}

bool copiesView(const Node &node) {
  std::string_view op = node.op;
  return op.substr(0, op.find('.')).ends_with("_copy") &&
         op != "aten::_to_copy";
}

double flopsOf(const Node &node, std::span<const ValueType> types) {
  Call call{node, types};
  std::string_view op = node.op;
  if (isMatrixProduct(op.substr(0, op.find('.'))))
    return ofMatrices(call);
  if (op.find("convolution") != op.npos)
    return ofConvolution(call);
  if (op.find("scaled_dot_product") != op.npos)
    return ofAttention(call);
  OpFacts facts = factsOf(op);
  if (facts.has(OpFact::Products))
    return ofOtherProducts(call);
  if (facts.has(OpFact::Copies) || facts.has(OpFact::LooksUp) ||
      copiesView(node))
    return 0;
  double results = 0, largest = 0;
  for (const TensorType &type : node.results)
    results += product(type.dims);
  forOperands(node, [&](ValueId value) {
    if (!types[value].isScalar)
      largest = std::max(largest, product(types[value].tensor.dims));
  });
  return std::max(results, largest);
}

} // namespace ltc
