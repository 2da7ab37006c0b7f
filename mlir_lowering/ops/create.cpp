//===- create.cpp - Tensors from nothing ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Value filled(Emit &e, const OpCall &op, Value value) {
  return e.full(e.shape(op.result()), op.result().dtype, value);
}

/// start + step * i, in the arithmetic of the result's dtype: an arange of
/// integers from -0.9 by 1.5 starts at 0 and goes by 1.
static Value arange(Emit &e, const OpCall &op) {
  DType dtype = op.result().dtype;
  Value start = op.has("start") ? op["start"] : Value(0);
  Value step = op.has("step") ? op["step"] : Value(1);
  DType wide = isFloat(dtype) ? DType::F64 : DType::I64;
  Value x =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        return s.add(s.mul(s.cast(at[0], wide), s.cast(step, wide)),
                     s.cast(start, wide));
      });
  return e.narrow(x, op.result());
}

/// From both ends to the middle, so that the last point is exact.
static Value linspace(Emit &e, const OpCall &op) {
  int64_t steps = op.integer("steps"), last = steps - 1;
  DType stored = op.result().dtype, dtype = computeDType(stored);
  Value x = e.generate(e.shape(op.result()), [&](Scalar s,
                                                 llvm::ArrayRef<Value> at) {
    auto kept = [&](Value v) { return s.rounded(s.cast(v, dtype), stored); };
    Value start = kept(op["start"]), end = kept(op["end"]);
    Value step = last > 0 ? kept(s.div(kept(s.sub(end, start)), kept(last)))
                          : s.number(0.0, dtype); // of a single point
    auto along = [&](Value i, Value from, Value by) {
      // 16-bit floats are rounded twice, others once.
      if (stored == dtype)
        return s.mulAdd(by, kept(i), from);
      return s.add(from, kept(s.mul(by, kept(i))));
    };
    return s.select(s.lt(at[0], std::max<int64_t>(steps / 2, 1)),
                    along(at[0], start, step),
                    along(s.sub(last, at[0]), end, s.neg(step)));
  });
  return e.narrow(x, op.result());
}

static Value eye(Emit &e, const OpCall &op) {
  Value x =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        return s.eq(at[0], at[1]);
      });
  return e.narrow(x, op.result());
}

static void addTriangle(OpTable &t, const char *name, bool lower) {
  // Keeps column j of row i where j - i is at most (at least) the diagonal.
  t.structured(name, [lower](Emit &e, const OpCall &op) {
     Value x = op["self"];
     int64_t diagonal = op.integer("diagonal");
     Value y = e.generate(e.shape(x), [&](Scalar s, llvm::ArrayRef<Value> at) {
       Value row = at[at.size() - 2], column = at.back();
       Value offset = s.sub(column, row);
       Value keep = lower ? s.le(offset, diagonal) : s.ge(offset, diagonal);
       Value element = s.load(x, at);
       return s.select(keep, element, s.number(0, element.dtype()));
     });
     return e.narrow(y, op.result());
   }).anySize();
}

void addCreateOps(OpTable &t) {
  t.structured(
       {"aten::full", "aten::full_like", "aten::new_full", "aten::fill.Scalar"},
       [](Emit &e, const OpCall &op) {
         return filled(e, op,
                       op.has("fill_value") ? op["fill_value"] : op["value"]);
       })
      .anySize();
  t.structured(
       {"aten::zeros", "aten::zeros_like", "aten::new_zeros", "aten::zero"},
       [](Emit &e, const OpCall &op) { return filled(e, op, 0); })
      .anySize();
  t.structured({"aten::ones", "aten::ones_like", "aten::new_ones"},
               [](Emit &e, const OpCall &op) { return filled(e, op, 1); })
      .anySize();
  t.structured("aten::scalar_tensor", [](Emit &e, const OpCall &op) {
     return filled(e, op, op["s"]);
   }).anySize();
  t.structured("aten::fill.Tensor", [](Emit &e, const OpCall &op) {
     return e.expand(e.narrow(op["value"], op.result()), e.shape(op["self"]));
   }).anySize();
  t.structured(
       {"aten::arange", "aten::arange.start", "aten::arange.start_step"},
       arange)
      .anySize();
  t.structured("aten::linspace", linspace).when([](const OpCall &op) {
    return isFloat(op.result().dtype);
  });
  t.structured({"aten::eye", "aten::eye.m"}, eye).anySize();
  // In-place copies: the values of one, the dtype and shape of the other.
  t.structured("aten::copy", [](Emit &e, const OpCall &op) {
     return e.expand(e.narrow(op["src"], op.result()), e.shape(op["self"]));
   }).anySize();
  addTriangle(t, "aten::tril", /*lower=*/true);
  addTriangle(t, "aten::triu", /*lower=*/false);
}

} // namespace ltc::compiler
