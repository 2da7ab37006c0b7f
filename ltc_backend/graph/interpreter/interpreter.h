//===- interpreter/interpreter.h - A graph without a program ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first tier. A graph that comes for the first time runs call by call, by
// the library's kernels and on the thread that syncs, as eager PyTorch would
// run it: views are aliases, a value lives until its last reader has run. The
// engine says when a compile is worth its time (Engine::compile()).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"
#include "ltc_backend/graph/collect.h"

namespace ltc::backend {

/// Whether interpret() gives what a compiled program would, but for rounding,
/// and in as much memory.
bool canInterpret(const Collection &collection);
/// Whether it can run at all.
bool hasKernels(const Collection &collection);

/// Runs the collection, whose inputs are ready, and returns one ready buffer an
/// output. Donated inputs are left as they are. An error names the op and the
/// user's line.
Result<std::vector<BufferPtr>> interpret(Engine &engine,
                                         const Collection &collection);

} // namespace ltc::backend
