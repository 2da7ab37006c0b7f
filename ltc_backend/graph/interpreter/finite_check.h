//===- interpreter/finite_check.h - Ops that make a NaN or Inf --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <ATen/core/Tensor.h>

#include <span>

namespace ltc::backend {

/// An operand of a call that has run: a tensor, or the bits of a number.
struct OperandValue {
  const at::Tensor *tensor = nullptr;
  uint64_t bits = 0;
  DType dtype = DType::F64;
};

/// NotFinite, with the operands' ranges, if the call has made a NaN, or with
/// `orInf` an Inf. It has made none that an operand already has, or that the
/// program asks for: full(n, inf). The error names neither line nor op.
Status checkFinite(const Node &call, std::span<const OperandValue> operands,
                   std::span<const at::Tensor> results, bool orInf);

} // namespace ltc::backend
