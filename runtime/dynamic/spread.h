//===- spread.h - Where marked dimensions lead ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two traces show what varies together. Of one trace and a mark it has to be
// told from the ops: a result's dimension that has an operand's size, where an
// op of its kind takes it from there, is that dimension. As with fits, a wrong
// guess serves fewer traces and is never a wrong value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

namespace ltc::runtime {

/// The trace with a symbol for each size that is marked dynamic, and formulas
/// where it leads. Without symbols if nothing that may vary is marked.
Graph spreadMarks(const Graph &trace, std::span<const DimMark> marks);

} // namespace ltc::runtime
