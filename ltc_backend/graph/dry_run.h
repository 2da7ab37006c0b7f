//===- graph/dry_run.h - Compile what a program would run -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With setting dry_run a sync launches nothing: its graph goes to threads that
// compile it, and so into the cache on disk, and its results never come.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

namespace ltc::backend {

/// What reading a value of a dry run gives.
Error dryRunError();

/// Compiles a graph on another thread, unless it is in memory. Any thread.
void compileInBackground(Engine &engine, Graph graph,
                         std::vector<DimMark> marks);

/// Waits until all of that is compiled, and returns the first error since the
/// last call. Any thread; must not hold the GIL.
Status finishCompiling();

} // namespace ltc::backend
