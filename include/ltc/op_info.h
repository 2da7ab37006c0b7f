//===- op_info.h - Exceptions to what a schema says about an op -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

namespace ltc {

/// Float and Scalar arguments are run-time operands of a graph, so that a new
/// value never recompiles. True for the few (op, argument) pairs whose value
/// decides a shape or picks a different computation, and which therefore stay
/// attributes: `end` of arange, `exponent` of pow, `p` of a norm, …
LTC_API bool scalarIsAttribute(std::string_view op, std::string_view argument);

} // namespace ltc
