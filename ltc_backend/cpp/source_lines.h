//===- cpp/source_lines.h - Lines of C++ programs ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Finds the lines of ops by backtraces, if the setting source_backtrace says
/// so and Python does not name them.
void watchLines();

} // namespace ltc::backend
