//===- graph_name.h - A graph in an error's words ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/hash.h"

#include <string>

namespace ltc {

/// "graph 1a2b3c4d of 12 ops": dumps and torch_ltc.explain() have the key.
inline std::string graphName(Hash128 key, size_t ops) {
  return "graph " + key.str().substr(0, 8) + " of " + std::to_string(ops) +
         (ops == 1 ? " op" : " ops");
}

} // namespace ltc
