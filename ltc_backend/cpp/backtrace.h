//===- cpp/backtrace.h - The program's line, by its debug data --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/source.h"

namespace ltc::backend {

/// The innermost line of the calling thread that is not PyTorch's, torch_ltc's
/// or the C++ library's; 0 where the program has no debug information. A place
/// in the code is looked up once in a process, which takes an addr2line.
SourceId lineByBacktrace();

} // namespace ltc::backend
