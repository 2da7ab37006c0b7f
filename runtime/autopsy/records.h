//===- records.h - What was compiled, and why -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/autopsy.h"

namespace ltc::runtime {

/// 1, 2, 3, … in this process.
uint64_t nextCompileNumber();
/// Keeps, counts and logs a record, and tells this thread's guards.
void publish(CompileRecord record);

} // namespace ltc::runtime
