//===- schema.h - What the schema of an op says of memory -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/function_schema.h>

#include <algorithm>

namespace ltc::backend {

/// Whether the op writes to an argument, or returns one that it wrote to.
inline bool isWritten(const c10::Argument &argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

/// Whether the op writes to an argument or may return a view of it.
inline bool hasAliases(const c10::FunctionSchema &schema) {
  return std::ranges::any_of(
      schema.arguments(),
      [](const c10::Argument &argument) { return argument.alias_info(); });
}

} // namespace ltc::backend
