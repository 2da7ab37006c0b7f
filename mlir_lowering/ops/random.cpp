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

#include <cmath>

namespace ltc::compiler {

/// The row-major number of the element at a position.
static Value counterAt(Scalar s, llvm::ArrayRef<Value> at, ResultType type) {
  Value number = s.number(0, DType::I64);
  for (auto [index, size] : llvm::zip_equal(at, type.sizes))
    number = s.add(s.mul(number, size), index);
  return number;
}

static DType uniformDType(DType dtype) {
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}

/// Each element from its random number: f(Scalar, counter, dtype).
template <typename F> static Value draw(Emit &e, const OpCall &op, F f) {
  ResultType type = op.result();
  Value x = e.generate(e.shape(type), [&](Scalar s, llvm::ArrayRef<Value> at) {
    return f(s, counterAt(s, at, type), uniformDType(type.dtype));
  });
  return e.narrow(x, type);
}

/// from + (to - from) * u
static Value uniform(Emit &e, const OpCall &op) {
  return draw(e, op, [&](Scalar s, Value counter, DType dtype) {
    Value x = s.uniform(op["seed"], counter, dtype);
    if (!op.has("from") && !op.has("to"))
      return x;
    Value from = s.cast(s.number(0.0, dtype), dtype);
    if (op.has("from"))
      from = s.add(from, op["from"]);
    Value width = s.sub(op.has("to") ? op["to"] : Value(1.0), from);
    return s.add(s.mul(x, width), from);
  });
}

/// Box and Muller 1958: two uniform numbers give one normal number.
static Value standardNormal(Scalar s, Value seed, Value counter, DType dtype) {
  auto [radius, angle] = s.uniformPair(seed, counter, dtype);
  Value length = s.sqrt(s.mul(-2.0, s.log(s.sub(1.0, radius))));
  return s.mul(length, s.cos(s.mul(angle, 2 * M_PI)));
}

static Value normal(Emit &e, const OpCall &op) {
  return draw(e, op, [&](Scalar s, Value counter, DType dtype) {
    Value z = standardNormal(s, op["seed"], counter, dtype);
    if (op.has("std"))
      z = s.mul(z, op["std"]);
    return op.has("mean") ? s.add(z, op["mean"]) : z;
  });
}

/// -log(1 - u) / lambda
static Value exponential(Emit &e, const OpCall &op) {
  return draw(e, op, [&](Scalar s, Value counter, DType dtype) {
    Value u = s.uniform(op["seed"], counter, dtype);
    Value x = s.neg(s.log(s.sub(1.0, u)));
    return op.has("lambd") ? s.div(x, op["lambd"]) : x;
  });
}

/// 1 with probability p, which is one number or one an element.
static Value bernoulli(Emit &e, const OpCall &op) {
  ResultType type = op.result();
  bool fromSelf = !op.has("p");
  Value x = e.generate(e.shape(type), [&](Scalar s, llvm::ArrayRef<Value> at) {
    Value u = s.uniform(op["seed"], counterAt(s, at, type), DType::F32);
    Value p = op["p"];
    if (fromSelf) {
      p = s.load(op["self"], at);
      p = s.checked(p, s.logicalAnd(s.ge(p, 0.0), s.le(p, 1.0)),
                    "Expected p_in >= 0 && p_in <= 1 to be true, but got "
                    "false.  (Could this error message be improved?  If so, "
                    "please report an enhancement request to PyTorch.)");
    }
    return s.lt(u, p);
  });
  return e.narrow(x, type);
}

/// x / (1 - p) where a number is at least p, else 0; and where that was.
static Values dropout(Emit &e, const OpCall &op) {
  Value x = op["input"];
  if (op.has("train") && !op.flag("train", true))
    return {e.narrow(x, op.result(0)),
            e.full(e.shape(op.result(1)), DType::Bool, true)};
  Values parts =
      e.mapMany({x}, [&](Scalar s, llvm::ArrayRef<Value> v) -> Values {
        Values at;
        for (int64_t dim = 0; dim < x.rank(); ++dim)
          at.push_back(s.index(dim));
        Value u =
            s.uniform(op["seed"], counterAt(s, at, op.result()), DType::F32);
        Value p = s.add(s.number(0.0, v[0].dtype()), op["p"]);
        Value keep = s.ge(u, p);
        Value scaled = s.div(v[0], s.sub(1.0, p));
        return {s.select(keep, scaled, 0.0), keep};
      });
  return {e.narrow(parts[0], op.result(0)), parts[1]};
}

static bool isFloatResult(const OpCall &op) {
  return isFloat(op.result().dtype);
}

void addRandomOps(OpTable &t) {
  t.structured({"aten::uniform", "aten::rand", "aten::rand_like"}, uniform)
      .when(isFloatResult)
      .anySize();
  t.structured({"aten::normal_functional", "aten::randn", "aten::randn_like"},
               normal)
      .when(isFloatResult)
      .anySize();
  t.structured("aten::exponential", exponential).when(isFloatResult).anySize();
  t.structured({"aten::bernoulli", "aten::bernoulli.p"}, bernoulli).anySize();
  t.structured("aten::native_dropout", dropout).anySize();
  t.pointwise("aten::native_dropout_backward",
              [](Scalar s, Value grad, Value mask, Value scale) {
                return s.select(mask, s.mul(grad, scale), 0.0);
              });
}

} // namespace ltc::compiler
