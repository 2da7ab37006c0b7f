//===- compile_hooks.h - Who looks at compiles ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"

namespace ltc {

/// Each may be null. Set before the first graph is compiled.
struct CompileHooks {
  /// The compiler failed at the graph. Returns what to add to the error's hint,
  /// such as where a reproducer lies. Any thread; must not throw.
  std::string (*failed)(const Graph &graph, const Error &error) = nullptr;
  /// Tests seed miscompiles here: the graph that the compiler is given in place
  /// of the true one, and what it has made.
  void (*seedGraph)(Graph &graph) = nullptr;
  void (*seedArtifact)(Artifact &artifact) = nullptr;
};
LTC_API extern CompileHooks compileHooks;

} // namespace ltc
