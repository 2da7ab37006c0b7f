//===- graph/verified_launch.h - Launches that are checked ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Setting `verify`: the first launch of each graph also runs on the host, call
// by call in ATen's kernels. Who compares the values, and says what is to be
// made of it, is a hook: torch_ltc.verifier.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/collect.h"

#include <ATen/core/Tensor.h>

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

/// Whether no graph of this key has been found right before, and there is a
/// hook.
bool verifies(Hash128 key);

/// Launches, waits and asks the hook. A graph that is found wrong has failed as
/// a launch fails: what it was to update keeps its value. The inputs are ready.
Result<std::vector<BufferPtr>> launchVerified(Engine &engine,
                                              const ExecutablePtr &executable,
                                              Collection &collection,
                                              SourceId place);

} // namespace ltc::backend
