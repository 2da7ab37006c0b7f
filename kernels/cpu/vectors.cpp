//===- vectors.cpp - Kernels for the vectors of a processor ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "vectors.h"

#include <cstdlib>
#include <string_view>

namespace ltc::kernels {

namespace {

enum Vectors { None, Half, Wide };

/// As PyTorch finds out for its own kernels.
Vectors ofProcessor() {
#if defined(__x86_64__)
  const char *named = std::getenv("ATEN_CPU_CAPABILITY");
  std::string_view most = named ? named : "";
  if (most == "default" || !__builtin_cpu_supports("avx2") ||
      !__builtin_cpu_supports("fma"))
    return None;
  bool wide = most != "avx2" && __builtin_cpu_supports("avx512f") &&
              __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("bmi2");
  return wide ? Wide : Half;
#else
  return None;
#endif
}

Vectors vectors() {
  static const Vectors answer = ofProcessor();
  return answer;
}

} // namespace

bool hasVectors() { return vectors() != None; }

bool hasWideVectors() { return vectors() == Wide; }

bool areFinite(const float *values, int64_t count) {
  bool result = false;
  withVectors([&](auto lanes) LTC_INLINED {
    FiniteCheck<lanes> check;
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
      check.note(Floats<lanes>::load(values + i));
    for (; i < count; ++i)
      check.note(values[i]);
    result = check.isFinite();
  });
  return result;
}

} // namespace ltc::kernels
