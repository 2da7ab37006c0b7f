//===- expected_time.h - What a library call takes, by its sizes *- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

namespace ltc::runtime {

/// About what a one-node graph's call takes one thread, in nanoseconds, besides
/// reading and writing its results; `call` has numbers for all sizes. Being
/// wrong costs time, never bits.
double expectedTime(const Graph &call);

/// About what a graph takes one thread call by call, and what its compile
/// takes, in seconds.
double expectedRunTime(const Graph &graph);
double expectedCompileTime(const Graph &graph);

} // namespace ltc::runtime
