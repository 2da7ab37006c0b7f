//===- reshape.cpp - Views, as copies that fuse away ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <limits>

namespace ltc::compiler {

/// Any view that keeps the row-major order: the result's shape says it all.
static Value reshape(Emit &e, const OpCall &op) {
  return e.reshape(op["self"], op.result());
}

static Value transpose(Emit &e, const OpCall &op) {
  return e.transpose(op["self"], op.dim("dim0"), op.dim("dim1"));
}

static Value expand(Emit &e, const OpCall &op) {
  return e.expand(op["self"], e.shape(op.result()));
}

static Value slice(Emit &e, const OpCall &op) {
  return e.slice(op["self"], op.dim("dim"), op.integer("start"),
                 op.integer("end", std::numeric_limits<int64_t>::max()),
                 op.integer("step", 1));
}

static Value sliceScatter(Emit &e, const OpCall &op) {
  return e.insertSlice(op["self"], op["src"], op.dim("dim"),
                       op.integer("start"),
                       op.integer("end", std::numeric_limits<int64_t>::max()),
                       op.integer("step", 1));
}

void addReshapeOps(OpTable &t) {
  t.structured({"aten::view", "aten::view_copy", "aten::_unsafe_view",
                "aten::reshape", "aten::_reshape_copy", "aten::_reshape_alias",
                "aten::_reshape_alias_copy", "aten::unsqueeze",
                "aten::unsqueeze_copy", "aten::squeeze", "aten::squeeze_copy",
                "aten::squeeze.dim", "aten::squeeze_copy.dim",
                "aten::squeeze.dims", "aten::squeeze_copy.dims", "aten::alias",
                "aten::alias_copy", "aten::detach", "aten::detach_copy"},
               reshape)
      .anyDType();
  t.structured({"aten::transpose.int", "aten::transpose_copy.int"}, transpose)
      .anyDType();
  t.structured({"aten::expand", "aten::expand_copy"}, expand).anyDType();
  t.structured({"aten::slice.Tensor", "aten::slice_copy.Tensor"}, slice)
      .anyDType();
  t.structured("aten::slice_scatter", sliceScatter);
}

} // namespace ltc::compiler
