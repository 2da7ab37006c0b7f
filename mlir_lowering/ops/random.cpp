//===- random.cpp - Random numbers from a counter ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element i of a random tensor is a function of (seed, i) alone, so that it is
// computed where it is used, in any order, on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

/// The row-major number of the element at a position.
static Value counterAt(Scalar s, llvm::ArrayRef<Value> at, ResultType type) {
  Value number = s.number(0, DType::I64);
  for (auto [index, size] : llvm::zip_equal(at, type.type.getShape()))
    number = s.add(s.mul(number, size), index);
  return number;
}

static DType uniformDType(DType dtype) {
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}

/// from + (to - from) * u
static Value uniform(Emit &e, const OpCall &op) {
  ResultType type = op.result();
  Value u = e.generate(e.shape(type), [&](Scalar s, llvm::ArrayRef<Value> at) {
    DType dtype = uniformDType(type.dtype);
    Value from = s.cast(op["from"], dtype), to = s.cast(op["to"], dtype);
    Value x = s.uniform(op["seed"], counterAt(s, at, type), dtype);
    return s.add(s.mul(x, s.sub(to, from)), from);
  });
  return e.narrow(u, type);
}

static bool isStaticResult(const OpCall &op) {
  return op.result().type.hasStaticShape();
}

void addRandomOps(OpTable &t) {
  t.structured("aten::uniform", uniform).when(isStaticResult);
}

} // namespace ltc::compiler
