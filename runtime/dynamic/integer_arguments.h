//===- integer_arguments.h - Which arguments are sizes or data --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dynamic/skeleton.h"

namespace ltc::runtime {

/// What the integers of an op's argument are, or nothing if they are structure:
/// an axis, a stride, a group count, whatever decides what code there is.
LTC_API std::optional<IntegerKind> kindOfInteger(std::string_view op,
                                                 std::string_view argument);

} // namespace ltc::runtime
