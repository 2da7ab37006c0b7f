//===- interpreter/checked_launch.h - Launches with checks ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches of programs that also run on the host, call by call in ATen's
// kernels. Setting `verify` does so to the first launch of each graph: who
// compares the values, and says what is to be made of it, is a hook:
// torch_ltc.checking.verifier. Setting `detect_nan` does so before each launch,
// and looks at each value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include <ATen/core/Tensor.h>

#include <optional>

namespace ltc::backend {

/// A graph that has run, and what went in and came out, on the CPU.
struct VerifiedRun {
  Graph graph;
  Hash128 key;
  /// One an input: a tensor, or a number's bits as an int64_t of one element.
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> results;
};

/// What is wrong with it, if anything is. Never throws.
using VerifyHook = std::optional<Error> (*)(const VerifiedRun &run);
LTC_API void setVerifyHook(VerifyHook hook);

/// Whether a setting asks to look at a launch of the graph: `verify` no more
/// once one has been found right.
bool isChecked(Hash128 key);

/// Launches, waits and asks the hook. A graph that is found wrong has failed as
/// a launch fails: what it was to update keeps its value. So has one that would
/// make a NaN, and is not launched. The inputs are ready, and none of their
/// memory is written.
Result<std::vector<BufferPtr>>
launchChecked(Engine &engine, const ExecutablePtr &executable, Graph graph,
              Hash128 key, std::vector<LaunchArgument> arguments,
              std::shared_ptr<const void> kept);

} // namespace ltc::backend
