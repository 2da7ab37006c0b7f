//===- checks/number_limits.h - Numbers that do not fit a dtype -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// The dtypes that eager's kernel converts the lifted numbers of such a call
/// to. Throws what eager says of a number that is no operand and does not fit.
std::vector<NumberLimit> numberLimits(const OpInfo &info,
                                      c10::ArrayRef<c10::IValue> arguments);

/// Throws what eager says of an operand that does not fit.
void checkNumber(const NumberLimit &limit, const Operand &number);

} // namespace ltc::backend
