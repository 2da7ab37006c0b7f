//===- op_info.cpp - Scalars that stay attributes ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/op_info.h"

#include <algorithm>
#include <array>

namespace ltc {

namespace {

struct Row {
  std::string_view op;       ///< without overload; "*" at the end: a prefix
  std::string_view argument; ///< "": every argument
};

// Only Scalar and float arguments are listed; ints, bools and strings are
// attributes anyway.
constexpr std::array rows = {
    // Decide the shape, or an index map.
    Row{"arange", ""},
    Row{"range", ""},
    Row{"upsample_*", ""},
    Row{"_upsample_*", ""},
    Row{"linalg_lstsq", "rcond"},
    // The points are computed from their bounds when the kernel is built.
    Row{"linspace", ""},
    Row{"logspace", ""},
    Row{"histc", "min"},
    Row{"histc", "max"},
    Row{"histogram", "range"},
    // An exponent picks the loop: square, root, reciprocal, general power.
    Row{"pow", "exponent"},
    Row{"float_power", "exponent"},
    Row{"_foreach_pow", "exponent"},
    // The p of a p-norm: 0 counts, 1 sums, 2 squares, inf takes the maximum.
    Row{"norm", "p"},
    Row{"native_norm", "p"},
    Row{"linalg_norm", "ord"},
    Row{"linalg_vector_norm", "ord"},
    Row{"linalg_matrix_norm", "ord"},
    Row{"linalg_cond", "p"},
    Row{"_foreach_norm", "ord"},
    Row{"dist", "p"},
    Row{"cdist", "p"},
    Row{"_cdist_forward", "p"},
    Row{"_cdist_backward", "p"},
    Row{"pdist", "p"},
    Row{"_pdist_forward", "p"},
    Row{"_pdist_backward", "p"},
    Row{"renorm", "p"},
    Row{"embedding_renorm", "norm_type"},
    Row{"lp_pool1d", "norm_type"},
    Row{"lp_pool2d", "norm_type"},
    Row{"lp_pool3d", "norm_type"},
    Row{"multi_margin_loss", "p"},
    Row{"multi_margin_loss_backward", "p"},
    // The divisor's correction: 0 and 1 in every program there is.
    Row{"var", "correction"},
    Row{"std", "correction"},
    Row{"var_mean", "correction"},
    Row{"std_mean", "correction"},
    // Beta 0 means that `self` is not read; 1 and 1 is a plain sum.
    Row{"addmm", ""},
    Row{"_addmm_activation", ""},
    Row{"baddbmm", ""},
    Row{"addbmm", ""},
    Row{"addmv", ""},
    Row{"addr", ""},
    // Their kernels refuse some numbers.
    Row{"celu", "alpha"},
    Row{"huber_loss", "delta"},
    Row{"renorm", "maxnorm"},
    Row{"smooth_l1_loss", "beta"},
    Row{"softshrink", "lambd"},
    // With and without dropout are two kernels.
    Row{"_scaled_dot_product_*", "dropout_p"},
    Row{"_fused_sdp_choice", "dropout_p"},
};

bool matches(std::string_view pattern, std::string_view op) {
  if (pattern.ends_with('*'))
    return op.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == op;
}

/// "aten::pow_.Scalar" to "pow".
std::string_view baseName(std::string_view op) {
  if (size_t colons = op.rfind("::"); colons != op.npos)
    op.remove_prefix(colons + 2);
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_') && !op.ends_with("__"))
    op.remove_suffix(1);
  return op;
}

} // namespace

bool scalarIsAttribute(std::string_view op, std::string_view argument) {
  std::string_view base = baseName(op);
  return std::any_of(rows.begin(), rows.end(), [&](const Row &row) {
    return matches(row.op, base) &&
           (row.argument.empty() || row.argument == argument);
  });
}

} // namespace ltc
