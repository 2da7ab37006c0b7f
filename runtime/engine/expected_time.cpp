//===- expected_time.cpp - What a library call takes, by its sizes --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/expected_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace ltc::runtime {
namespace {

enum class Work {
  Products, ///< sums of products
  Elements, ///< something for each element
  Orders,   ///< compares elements, or draws by them
  Rows,     ///< reads rows of `weight`, one for each of `indices`
  Copies    ///< reads no more than it writes
};

struct Named {
  std::string_view name;
  Work work;
};
constexpr Named kNamed[] = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu", Work::Products},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
     Work::Products},
    {"aten::addbmm", Work::Products},
    {"aten::addmm", Work::Products},
    {"aten::addmv", Work::Products},
    {"aten::baddbmm", Work::Products},
    {"aten::bmm", Work::Products},
    {"aten::convolution", Work::Products},
    {"aten::convolution_backward", Work::Products},
    {"aten::dot", Work::Products},
    {"aten::mm", Work::Products},
    {"aten::mv", Work::Products},
    {"aten::kthvalue", Work::Orders},
    {"aten::logcumsumexp", Work::Orders}, // takes as long
    {"aten::median", Work::Orders},
    {"aten::median.dim", Work::Orders},
    {"aten::mode", Work::Orders},
    {"aten::multinomial", Work::Orders},
    {"aten::nanmedian", Work::Orders},
    {"aten::nanmedian.dim", Work::Orders},
    {"aten::sort", Work::Orders},
    {"aten::sort.stable", Work::Orders},
    {"aten::_embedding_bag", Work::Rows},
    {"aten::_embedding_bag_forward_only", Work::Rows},
    {"aten::cat", Work::Copies},
    {"aten::index_copy", Work::Copies},
    {"aten::index_put", Work::Copies},
};

Work workOf(std::string_view name) {
  if (name.starts_with("ltc::")) // recurrent layers
    return Work::Products;
  const Named *found = std::ranges::find(kNamed, name, &Named::name);
  return found != std::end(kNamed) ? found->work : Work::Elements;
}

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
  switch (workOf(call.nodes[0].op)) {
  case Work::Products:
    // Of an m x k by a k x n matrix, the root of all three's sizes multiplied.
    return std::sqrt(a * b * c) * product;
  case Work::Elements:
    return a * element;
  case Work::Orders:
    return a * ordered;
  case Work::Rows:
    return rowsOf(call) * read;
  case Work::Copies:
    return 0;
  }
  return 0;
}

} // namespace ltc::runtime
