//===- vectors_test.h - Kernels that need long vectors ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "kernels/cpu/vectors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace ltc::backend::test {

/// A result in the middle of memory that is not its own.
struct Guarded {
  explicit Guarded(at::IntArrayRef sizes)
      : all(at::full({c10::multiply_integers(sizes) + 2 * kRoom}, 7.0f)),
        inside(all.slice(0, kRoom, all.size(0) - kRoom).view(sizes)) {}
  bool isUntouched() const {
    return (all.slice(0, 0, kRoom) == 7).all().item<bool>() &&
           (all.slice(0, -kRoom) == 7).all().item<bool>();
  }

  static constexpr int64_t kRoom = 64;
  at::Tensor all, inside;
};

/// Elsewhere nothing calls such a kernel.
class VectorsTest : public testing::Test {
  void SetUp() override {
    if (!kernels::hasVectors())
      GTEST_SKIP() << "no AVX2";
    at::manual_seed(0);
  }
};

} // namespace ltc::backend::test
