//===- integer_arguments.cpp - Which arguments are sizes or data ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/integer_arguments.h"

#include <algorithm>
#include <array>

namespace ltc::runtime {

namespace {

struct Row {
  std::string_view argument;
  IntegerKind kind;
  std::string_view op = "*"; ///< a prefix, and a star
};

constexpr IntegerKind Size = IntegerKind::ResultSize, Data = IntegerKind::Data,
                      Position = IntegerKind::Position;

// ATen's schemas call most of these SymInt. What they call so and is not here
// (strides, paddings and dilations of windows, groups) picks other code.
constexpr std::array rows = {
    Row{"size", Size},
    Row{"sizes", Size},
    Row{"shape", Size},
    Row{"input_size", Size},
    Row{"input_sizes", Size},
    Row{"self_sizes", Size},
    Row{"bias_sizes", Size},
    Row{"output_size", Size},
    Row{"normalized_shape", Size},
    Row{"split_size", Size},
    Row{"split_sizes", Size},
    Row{"repeats", Size},
    Row{"length", Size},
    Row{"last_dim_size", Size},
    Row{"num_weights", Size},
    Row{"num_samples", Size},
    Row{"steps", Size, "aten::linspace*"},
    Row{"n", Size, "aten::eye*"},
    Row{"m", Size, "aten::eye*"},
    Row{"N", Size, "aten::native_group_norm*"},
    Row{"HxW", Size, "aten::native_group_norm*"},
    Row{"k", Size, "aten::topk*"},
    Row{"row", Size, "aten::tri*"},
    Row{"col", Size, "aten::tri*"},
    Row{"stride", Size, "aten::as_strided*"},
    Row{"storage_offset", Data},
    Row{"start", Position},
    Row{"end", Position},
    Row{"index", Position},
    Row{"offset", Data},
    Row{"diagonal", Data},
    Row{"shifts", Data},
    Row{"pad", Data},
    Row{"ignore_index", Data},
    Row{"padding_idx", Data},
    Row{"low", Data, "aten::randint*"},
    Row{"high", Data, "aten::randint*"},
    Row{"k", Data, "aten::kthvalue*"},
};

bool matches(std::string_view pattern, std::string_view op) {
  return op.starts_with(pattern.substr(0, pattern.size() - 1));
}

} // namespace

std::optional<IntegerKind> kindOfInteger(std::string_view op,
                                         std::string_view argument) {
  auto row = std::ranges::find_if(rows, [&](const Row &row) {
    return row.argument == argument && matches(row.op, op);
  });
  return row == rows.end() ? std::nullopt : std::optional(row->kind);
}

} // namespace ltc::runtime
