//===- expected_time.cpp - What a library call takes, by its sizes --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/expected_time.h"

#include "ltc/op_facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace ltc::runtime {
namespace {

/// Elements of the largest three of a call's tensors.
std::array<double, 3> largestOf(const Graph &call) {
  std::array<double, 4> largest = {1, 1, 1}; // the last is a new one's place
  auto add = [&](const TensorType &type) {
    largest[3] = 1;
    for (int64_t dim : type.dims)
      largest[3] *= double(dim);
    std::sort(largest.begin(), largest.end(), std::greater());
  };
  for (const ValueType &input : call.inputs)
    if (!input.isScalar)
      add(input.tensor);
  for (const Node &node : call.nodes)
    for (const TensorType &type : node.results)
      add(type);
  return {largest[0], largest[1], largest[2]};
}

/// Elements of the rows of a table that a call reads.
double rowsOf(const Graph &call) {
  auto dimsOf = [&](std::string_view name) {
    const Argument *argument = call.nodes[0].find(name);
    auto *value = argument ? std::get_if<ValueId>(&argument->value) : nullptr;
    return value && *value != kNoValue ? call.typeOf(*value).tensor.dims
                                       : std::vector<int64_t>();
  };
  auto table = dimsOf("weight"), indices = dimsOf("indices");
  double elements = table.empty() ? 0 : double(table.back());
  for (int64_t dim : indices)
    elements *= double(dim);
  return elements;
}

} // namespace

double expectedTime(const Graph &call) {
  // In nanoseconds, of 1M elements: `cumsum` takes 0.9 for each, `gather` 0.9,
  // `fft` 1.1, `scatter_add` 1.4, adaptive pooling 0.7 to 1.5, `topk` 2.6;
  // `kthvalue` 11, `median` 14, `multinomial` 22, `logcumsumexp` 27, `sort` 49.
  constexpr double product = 1. / 32, element = 1, ordered = 20, read = 0.25;
  if (call.nodes.empty())
    return 0;
  auto [a, b, c] = largestOf(call);
  OpFacts facts = factsOf(call.nodes[0].op);
  if (facts.has(OpFact::Copies))
    return 0;
  if (facts.has(OpFact::LooksUp))
    return rowsOf(call) * read;
  // Of an m x k by a k x n matrix, the root of all three's sizes multiplied.
  if (facts.has(OpFact::Products))
    return std::sqrt(a * b * c) * product;
  return a * (facts.has(OpFact::Orders) ? ordered : element);
}

} // namespace ltc::runtime
