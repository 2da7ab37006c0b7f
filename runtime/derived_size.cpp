//===- derived_size.cpp - Numbers of an entry's sizes ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/derived_size.h"

#include <algorithm>
#include <limits>

namespace ltc {

static bool isLeaf(const DerivedSize::Step &step) {
  return step.kind <= DerivedSize::Step::Size;
}

bool DerivedSize::isWhole() const {
  size_t depth = 0;
  for (const Step &step : steps) {
    if (step.kind > Step::Less || (!isLeaf(step) && depth < 2))
      return false;
    depth += isLeaf(step) ? 1 : -1;
  }
  return depth == 1;
}

bool DerivedSize::apply(const Step &step, std::vector<int64_t> &stack) {
  if (isLeaf(step)) {
    stack.push_back(step.constant);
    return true;
  }
  const int64_t b = stack.back();
  stack.pop_back();
  int64_t &a = stack.back();
  const bool isDivision =
      step.kind == Step::FloorDivide || step.kind == Step::Modulo;
  if (isDivision &&
      (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())))
    return false;
  switch (step.kind) {
  case Step::Add:
    return !__builtin_add_overflow(a, b, &a);
  case Step::Multiply:
    return !__builtin_mul_overflow(a, b, &a);
  case Step::FloorDivide:
    a = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
  case Step::Modulo:
    a = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    return true;
  case Step::Greatest:
    a = std::max(a, b);
    return true;
  case Step::Least:
    a = std::min(a, b);
    return true;
  case Step::Equal:
    a = a == b;
    return true;
  case Step::Less:
    a = a < b;
    return true;
  case Step::Constant:
  case Step::Size:
    break;
  }
  return false;
}

} // namespace ltc
