//===- index.cpp - Reads and writes at computed positions -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Value embedding(Emit &e, const OpCall &op) {
  Value weight = op["weight"], ids = op["indices"];
  Shape shape = e.shape(ids);
  shape.push_back(e.shape(weight)[1]);
  Value rows = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
    Value id = s.load(ids, at.drop_back());
    Value row = s.checkIndex(id, s.size(weight, 0));
    return s.load(weight, {row, at.back()});
  });
  return e.narrow(rows, op.result());
}

static Value gather(Emit &e, const OpCall &op) {
  Value x = op["self"], index = op["index"];
  int64_t dim = op.dim("dim");
  if (x.rank() == 0)
    return e.expand(x, e.shape(index));
  Value picked = e.generate(e.shape(index), [&](Scalar s, llvm::ArrayRef<Value> at) {
    Values from(at);
    from[dim] = s.checkIndex(s.load(index, at), s.size(x, dim));
    return s.load(x, from);
  });
  return e.narrow(picked, op.result());
}

void addIndexOps(OpTable &t) {
  t.structured("aten::embedding", embedding);
  t.structured("aten::gather", gather);
}

} // namespace ltc::compiler
