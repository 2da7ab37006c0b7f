//===- wide_vectors.cpp - Vectors as long as a cache line -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "wide_vectors.h"

#include <ATen/Version.h>

namespace ltc::backend {

bool hasWideVectors() {
  static const bool answer = at::get_cpu_capability() == "AVX512";
  return answer;
}

bool hasHalfVectors() {
  static const bool answer =
      hasWideVectors() || at::get_cpu_capability() == "AVX2";
  return answer;
}

} // namespace ltc::backend
