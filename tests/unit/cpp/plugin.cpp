//===- plugin.cpp - A part of a program that uses the device --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>

#include <ATen/ATen.h>

/// The sum of so many threes, and something that nobody waits for.
extern "C" __attribute__((visibility("default"))) float sumOfThrees(int count) {
  at::Tensor threes = at::full({count}, 2.f, ltc::device()).add(1);
  float sum = threes.sum().item<float>();
  at::Tensor unread = threes.exp();
  ltc::mark_step();
  return sum;
}
