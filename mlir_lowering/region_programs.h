//===- region_programs.h - Programs of a program's regions ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/compiler.h"

namespace ltc::compiler {

/// Compiles the regions of the artifact's calls, each once, and adds them to it
/// (ltc/region_ops.h). The graph, which it was made of, tells their lines.
Status compileRegions(Artifact &artifact, const Graph &graph,
                      const CompileOptions &options);

} // namespace ltc::compiler
