//===- target.h - What code is generated for --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

namespace ltc {

/// A driver names its target; the compiler must know the kind.
struct Target {
  std::string kind = "cpu"; ///< "cpu", "cuda", a vendor's own
  std::string triple;       ///< LLVM triple; empty: the host's
  std::string cpu;          ///< LLVM CPU name; empty: the host's
  std::string
      features; ///< "+avx512f,-sse4a"; empty with an empty cpu: the host's

  /// "cpu:x86_64-…:znver4:+…", part of the cache key.
  std::string str() const {
    return kind + ":" + triple + ":" + cpu + ":" + features;
  }
};

} // namespace ltc
