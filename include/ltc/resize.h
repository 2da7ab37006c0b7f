//===- resize.h - One program for other sizes -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

namespace ltc {

/// The program of a graph with symbols for other values of those, one each; no
/// engine remembers it. `key` names the graph of these sizes, for people.
/// Refuses sizes that are negative or too large. Any thread.
LTC_API Result<ExecutablePtr> resize(const ExecutablePtr &executable,
                                     std::vector<int64_t> symbols, Hash128 key);

} // namespace ltc
