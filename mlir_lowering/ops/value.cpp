//===- value.cpp - Type promotion -------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/value.h"

#include <algorithm>

namespace ltc::compiler {

DType computeDType(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 ? DType::F32 : dtype;
}

DType sumDType(DType dtype) {
  return isFloat(dtype) ? computeDType(dtype) : DType::I64;
}

bool hasArithmetic(DType dtype) {
  return !isComplex(dtype) && dtype != DType::F8E4M3FN &&
         dtype != DType::F8E5M2;
}

bool isUnsigned(DType dtype) {
  switch (dtype) {
  case DType::Bool:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    return true;
  default:
    return false;
  }
}

/// Bool < integers < floats.
static int kindOf(DType dtype) {
  return dtype == DType::Bool ? 0 : isInteger(dtype) ? 1 : 2;
}

DType promote(DType a, DType b) {
  if (a == b)
    return a;
  if (kindOf(a) != kindOf(b))
    return kindOf(a) > kindOf(b) ? a : b;
  if (kindOf(a) == 2) {
    if (byteSize(a) == 2 && byteSize(b) == 2)
      return DType::F32; // f16 with bf16
    return byteSize(a) > byteSize(b) ? a : b;
  }
  if (isUnsigned(a) != isUnsigned(b)) {
    DType u = isUnsigned(a) ? a : b, s = isUnsigned(a) ? b : a;
    if (byteSize(s) > byteSize(u))
      return s;
    return byteSize(u) == 1   ? DType::I16
           : byteSize(u) == 2 ? DType::I32
                              : DType::I64;
  }
  return byteSize(a) > byteSize(b) ? a : b;
}

DType promote(llvm::ArrayRef<Value> values) {
  // Priority: with dimensions, 0-d, scalars. A lower one counts only if its
  // kind is higher, and a scalar float then stands for the default dtype.
  std::optional<DType> byPriority[3];
  for (const Value &value : values) {
    if (!value)
      continue;
    int priority = value.isWeak()                      ? 2
                   : value.isTensor() && !value.rank() ? 1
                                                       : 0;
    DType dtype = value.dtype();
    if (priority == 2 && isFloat(dtype))
      dtype = DType::F32;
    std::optional<DType> &slot = byPriority[priority];
    slot = slot ? promote(*slot, dtype) : dtype;
  }
  std::optional<DType> common;
  for (std::optional<DType> dtype : byPriority)
    if (dtype && (!common || kindOf(*dtype) > kindOf(*common)))
      common = dtype;
  return common.value_or(DType::F32);
}

} // namespace ltc::compiler
