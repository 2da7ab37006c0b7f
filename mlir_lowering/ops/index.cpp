//===- index.cpp - Reads at computed positions ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes at computed positions (scatter, index_put, embedding's gradient) are
// library calls, or a GPU's kernels (lower/scatter.cpp): their result depends
// on order where positions repeat.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/advanced_index.h"
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
  Value picked =
      e.generate(e.shape(index), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values from(at);
        from[dim] = s.checkIndex(s.load(index, at), s.size(x, dim));
        return s.load(x, from);
      });
  return e.narrow(picked, op.result());
}

static Value indexSelect(Emit &e, const OpCall &op) {
  Value x = op["self"], index = op["index"];
  int64_t dim = op.dim("dim");
  Value picked =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values from(at);
        Value position =
            index.rank() == 0 ? s.load(index, {}) : s.load(index, {at[dim]});
        from[dim] = s.checkIndex(position, s.size(x, dim));
        return s.load(x, from);
      });
  return e.narrow(picked, op.result());
}

static Value index(Emit &e, const OpCall &op) {
  Value x = op["self"];
  AdvancedIndex advanced(op);
  Value picked =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        return s.load(x, advanced.position(s, x, at));
      });
  return e.narrow(picked, op.result());
}

static Value take(Emit &e, const OpCall &op) {
  Value x = e.flatten(op["self"]), index = op["index"];
  Value picked =
      e.generate(e.shape(index), [&](Scalar s, llvm::ArrayRef<Value> at) {
        return s.load(
            x, {s.checkIndex(s.load(index, at), s.size(x, 0), /*wrap=*/true)});
      });
  return e.narrow(picked, op.result());
}

/// 1 where a class is named. It has as many classes as the result says.
static Value oneHot(Emit &e, const OpCall &op) {
  Shape shape = e.shape(op.result());
  Value hot = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
    Value named = s.load(op["self"], at.drop_back());
    named =
        s.checked(named, s.ge(named, 0), "Class values must be non-negative.");
    named = s.checked(named, s.lt(named, shape.back()),
                      "Class values must be smaller than num_classes.");
    return s.eq(named, at.back());
  });
  return e.narrow(hot, op.result());
}

/// A value as it is, once something is known to hold.
static Value checked(Emit &e, const OpCall &op) {
  Value holds = op["self"], value = op["dep_token"];
  Value same =
      e.generate(e.shape(value), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values one(holds.rank(), s.number(0, DType::I64));
        return s.checked(s.load(value, at), s.load(holds, one),
                         op.text("assert_msg"));
      });
  return e.narrow(same, op.result());
}

/// Whether a row of this would look at its indices. Eager's kernel looks at
/// them also where there is nothing to read.
static bool hasElements(const OpCall &op) {
  return !llvm::is_contained(op.result().sizes, 0);
}

void addIndexOps(OpTable &t) {
  t.structured("aten::one_hot", oneHot).anySize();
  t.structured("aten::_functional_assert_async.msg", checked).anySize();
  t.structured("aten::embedding", embedding).when(hasElements).anySize();
  t.structured("aten::gather", gather)
      .when([](const OpCall &op) {
        // A scalar stands for a vector of one element, on either side.
        return op["self"].rank() > 0 && op["index"].rank() == op["self"].rank();
      })
      .anySize();
  t.structured("aten::index_select", indexSelect)
      .when([](const OpCall &op) {
        return op["self"].rank() > 0 && hasElements(op);
      })
      .anySize();
  t.structured({"aten::index.Tensor", "aten::_unsafe_index.Tensor"}, index)
      .when(AdvancedIndex::accepts)
      .anySize();
  t.structured("aten::take", take).anySize();
}

} // namespace ltc::compiler
