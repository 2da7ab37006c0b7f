//===- graph/finite_check.h - Ops that make a NaN or an Inf -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// NotFinite, with the operands' ranges, if the call has made a NaN, or with
/// `orInf` an Inf. It has made none that an operand already has, or that the
/// program asks for: full(n, inf). The error names neither line nor op.
Status checkFinite(const OpNode &node,
                   c10::ArrayRef<const at::Tensor *> operands,
                   std::span<const at::Tensor> results, bool orInf);

} // namespace ltc::backend
