//===- key.h - The name of a graph's entry on disk --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/hash.h"

namespace ltc::runtime {

/// All that decides an artifact: the graph, the target with every feature of
/// its CPU, and the compiler's build. Nothing of this process or this machine.
inline Hash128 diskKey(Hash128 graph, std::string_view target,
                       std::string_view compiler) {
  return Hasher().add(graph).add(target).add(compiler).finish();
}

} // namespace ltc::runtime
