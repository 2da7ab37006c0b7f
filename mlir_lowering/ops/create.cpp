//===- create.cpp - Tensors from nothing ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Value full(Emit &e, const OpCall &op) {
  return e.full(e.shape(op.result()), op.result().dtype, op["fill_value"]);
}

/// start + step * i, in the arithmetic of the result's dtype.
static Value arange(Emit &e, const OpCall &op) {
  DType dtype = op.result().dtype;
  Value start = op.has("start") ? op["start"] : Value(0);
  Value step = op.has("step") ? op["step"] : Value(1);
  DType wide = isFloat(dtype) ? DType::F64 : DType::I64;
  Value x = e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
    return s.add(s.mul(s.cast(at[0], wide), step), start);
  });
  return e.narrow(x, op.result());
}

void addCreateOps(OpTable &t) {
  t.structured("aten::full", full);
  t.structured({"aten::arange", "aten::arange.start", "aten::arange.start_step"},
               arange);
}

} // namespace ltc::compiler
