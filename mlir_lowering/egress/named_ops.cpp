//===- named_ops.cpp - What dialects say ops with ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "*" is several ops of the dialect (its own file has them), "formula" what
// functions.cpp has, of other ops, "" none.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/tensor_dialect.h"

namespace ltc::compiler {

// clang-format off
static constexpr PointwiseRow kRows[] = {
    {"arith.addf", "stablehlo.add", "tosa.add"},
    {"arith.addi", "stablehlo.add", "tosa.add"},
    {"arith.andi", "stablehlo.and", "*"},
    {"arith.bitcast", "stablehlo.bitcast_convert", ""},
    {"arith.cmpf", "*", "*"},
    {"arith.cmpi", "*", "*"},
    {"arith.divf", "stablehlo.divide", "*"},
    {"arith.divsi", "stablehlo.divide", "tosa.intdiv"},
    {"arith.divui", "stablehlo.divide", "", true},
    {"arith.extf", "stablehlo.convert", "tosa.cast"},
    {"arith.extsi", "stablehlo.convert", "tosa.cast"},
    {"arith.extui", "*", "*"},
    {"arith.fptosi", "stablehlo.convert", "*"},
    {"arith.fptoui", "*", ""},
    {"arith.index_cast", "*", "*"},
    {"arith.index_castui", "*", "*"},
    {"arith.maximumf", "stablehlo.maximum", "tosa.maximum"},
    {"arith.maxnumf", "*", "*"},
    {"arith.maxsi", "stablehlo.maximum", "tosa.maximum"},
    {"arith.maxui", "stablehlo.maximum", "*", true},
    {"arith.minimumf", "stablehlo.minimum", "tosa.minimum"},
    {"arith.minnumf", "*", "*"},
    {"arith.minsi", "stablehlo.minimum", "tosa.minimum"},
    {"arith.minui", "stablehlo.minimum", "*", true},
    {"arith.mulf", "stablehlo.multiply", "*"},
    {"arith.muli", "stablehlo.multiply", "*"},
    {"arith.negf", "stablehlo.negate", "*"},
    {"arith.ori", "stablehlo.or", "*"},
    {"arith.remf", "stablehlo.remainder", ""},
    {"arith.remsi", "stablehlo.remainder", "*"},
    {"arith.remui", "stablehlo.remainder", "", true},
    {"arith.select", "stablehlo.select", "tosa.select"},
    {"arith.shli", "stablehlo.shift_left", "tosa.logical_left_shift"},
    {"arith.shrsi", "stablehlo.shift_right_arithmetic", "*"},
    {"arith.shrui", "stablehlo.shift_right_logical", "tosa.logical_right_shift"},
    {"arith.sitofp", "stablehlo.convert", "tosa.cast"},
    {"arith.subf", "stablehlo.subtract", "tosa.sub"},
    {"arith.subi", "stablehlo.subtract", "tosa.sub"},
    {"arith.truncf", "stablehlo.convert", "tosa.cast"},
    {"arith.trunci", "*", "*"},
    {"arith.uitofp", "*", "*"},
    {"arith.xori", "stablehlo.xor", "*"},
    {"ltc.check", "*", "*"},
    {"ltc.check_divisor", "*", "*"},
    {"ltc.check_index", "*", "*"},
    {"math.absf", "stablehlo.abs", "tosa.abs"},
    {"math.absi", "stablehlo.abs", "tosa.abs"},
    {"math.acos", "formula", ""},
    {"math.acosh", "formula", "formula"},
    {"math.asin", "formula", ""},
    {"math.asinh", "formula", "formula"},
    {"math.atan", "formula", ""},
    {"math.atan2", "stablehlo.atan2", ""},
    {"math.atanh", "formula", "formula"},
    {"math.ceil", "stablehlo.ceil", "tosa.ceil"},
    {"math.copysign", "*", "formula"},
    {"math.cos", "stablehlo.cosine", "tosa.cos"},
    {"math.cosh", "formula", "formula"},
    {"math.erf", "formula", "tosa.erf"},
    {"math.erfc", "formula", "formula"},
    {"math.exp", "stablehlo.exponential", "tosa.exp"},
    {"math.exp2", "formula", "formula"},
    {"math.expm1", "stablehlo.exponential_minus_one", "formula"},
    {"math.floor", "stablehlo.floor", "tosa.floor"},
    {"math.fma", "formula", "formula"},
    {"math.log", "stablehlo.log", "tosa.log"},
    {"math.log10", "formula", "formula"},
    {"math.log1p", "stablehlo.log_plus_one", "formula"},
    {"math.log2", "formula", "formula"},
    {"math.powf", "stablehlo.power", "tosa.pow"},
    {"math.roundeven", "stablehlo.round_nearest_even", "formula"},
    {"math.rsqrt", "stablehlo.rsqrt", "tosa.rsqrt"},
    {"math.sin", "stablehlo.sine", "tosa.sin"},
    {"math.sinh", "formula", "formula"},
    {"math.sqrt", "stablehlo.sqrt", "*"},
    {"math.tan", "stablehlo.tan", "formula"},
    {"math.tanh", "stablehlo.tanh", "tosa.tanh"},
    {"math.trunc", "formula", "formula"},
};

/// For the documents: the dialects' own files say how.
static constexpr TensorOpRow kTensorRows[] = {
    {"broadcast", "broadcast_in_dim", "reshape, tile"},
    {"greatest or least value with its index", "reduce", "reduce_max, reduce_min, select"},
    {"concatenate", "concatenate", "concat"},
    {"constant", "constant", "const"},
    {"convolution", "convolution", "conv2d, transpose"},
    {"count along a dimension", "iota", "const, tile"},
    {"fold along dimensions", "reduce", "reduce_sum, reduce_max, ..."},
    {"insert a slice", "slice, concatenate, pad, select", "slice, concat, pad, select"},
    {"matrix product", "dot_general", "matmul"},
    {"pad", "pad", "pad"},
    {"read at computed positions", "gather", "gather"},
    {"reshape", "reshape", "reshape"},
    {"reverse", "reverse", "reverse"},
    {"running sum or product", "reduce_window", ""},
    {"slice", "slice", "slice"},
    {"sort", "sort", ""},
    {"transpose", "transpose", "transpose"},
    {"write at computed positions, adding", "scatter", "matmul by zeros and ones"},
    {"write at computed positions, replacing", "scatter", "scatter"},
};
// clang-format on

llvm::ArrayRef<TensorOpRow> tensorOpRows() { return kTensorRows; }
llvm::ArrayRef<PointwiseRow> pointwiseRows() { return kRows; }

const PointwiseRow *findPointwiseRow(llvm::StringRef op) {
  const auto *row = llvm::find_if(
      kRows, [&](const PointwiseRow &candidate) { return candidate.op == op; });
  return row == std::end(kRows) ? nullptr : row;
}

} // namespace ltc::compiler
