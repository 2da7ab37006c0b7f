//===- bfloat16_rows.cpp - To bfloat16 and back ---------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bfloat16_rows.h"

#include "vector_functions.h"

namespace ltc::kernels {

LTC_FOR_EACH_CPU
void widenRow(int64_t count, const uint16_t *from, float *to) {
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<float>(uint32_t(from[i]) << 16);
}

LTC_FOR_EACH_CPU
void roundRow(int64_t count, const float *from, uint16_t *to) {
  LTC_NO_OVERLAP
  for (int64_t i = 0; i < count; ++i) {
    constexpr uint16_t kNaN = 0x7fc0;
    auto bits = std::bit_cast<uint32_t>(from[i]);
    auto nearest = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    to[i] = (bits & 0x7fffffff) > 0x7f800000 ? kNaN : nearest;
  }
}

} // namespace ltc::kernels
