//===- reduce.cpp - Sums, means, extremes, norms ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <cmath>
#include <limits>

namespace ltc::compiler {

static llvm::SmallVector<int64_t> allDims(Value x) {
  return llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
}

/// The `dim` argument in all its forms; absent or empty means all.
static llvm::SmallVector<int64_t> reducedDims(const OpCall &op) {
  return op.has("dim") ? op.dims("dim") : allDims(op["self"]);
}

/// What is added up or multiplied: for a bool, whether each is zero; for a
/// 16-bit float, each as one.
static Value terms(Emit &e, const OpCall &op) {
  Value x = op["self"];
  DType stored = op.result().dtype;
  bool isCoarse = stored == DType::Bool || computeDType(stored) != stored;
  return isCoarse ? e.cast(x, stored) : x;
}

static Value sum(Emit &e, const OpCall &op) {
  Value x = terms(e, op);
  // sum(x, dtype=float64): the terms are converted first.
  if (sumDType(x.dtype()) != sumDType(op.result().dtype))
    x = e.cast(x, op.result().dtype);
  return e.narrow(e.reduceSum(x, reducedDims(op), op.flag("keepdim")),
                  op.result());
}

static Value countNonzero(Emit &e, const OpCall &op) {
  return e.reduceSum(e.ne(op["self"], 0), reducedDims(op), /*keepdim=*/false);
}

static Value nanSum(Emit &e, const OpCall &op) {
  Value x = e.map(e.cast(terms(e, op), sumDType(op.result().dtype)),
                  [](Scalar s, Value v) {
                    return s.select(s.isNan(v), s.number(0, v.dtype()), v);
                  });
  return e.narrow(e.reduceSum(x, reducedDims(op), op.flag("keepdim")),
                  op.result());
}

static Value mean(Emit &e, const OpCall &op) {
  Value x = e.cast(op["self"], sumDType(op.result().dtype));
  return e.narrow(e.reduceMean(x, reducedDims(op), op.flag("keepdim")),
                  op.result());
}

static Value prod(Emit &e, const OpCall &op) {
  Value x = e.cast(terms(e, op), sumDType(op.result().dtype));
  return e.narrow(e.reduceProd(x, reducedDims(op), op.flag("keepdim")),
                  op.result());
}

/// A reduction of x's own dtype, as a row.
static void addExtreme(OpTable &t, RowNames names,
                       Value (Emit::*reduce)(Value, Dims, bool)) {
  t.structured(names, [reduce](Emit &e, const OpCall &op) {
     Value y = (e.*reduce)(op["self"], reducedDims(op), op.flag("keepdim"));
     return e.narrow(y, op.result());
   }).anySize();
}

/// Of no dimensions, an element for an element: any() and all() alone read an
/// empty list so.
static void addTruth(OpTable &t, const char *name,
                     Value (Emit::*reduce)(Value, Dims, bool)) {
  t.structured(name, [reduce](Emit &e, const OpCall &op) {
     if (op.has("dim") && op.integers("dim").empty())
       return e.cast(e.cast(op["self"], DType::Bool), op.result().dtype);
     Value y = (e.*reduce)(op["self"], reducedDims(op), op.flag("keepdim"));
     return e.narrow(y, op.result());
   }).anySize();
}

static void addExtremeWithIndex(OpTable &t, const char *name, bool max) {
  t.structured(name,
               [max](Emit &e, const OpCall &op) -> Values {
                 bool keepdim = op.flag("keepdim");
                 auto best =
                     max ? e.reduceArgMax(op["self"], op.dim("dim"), keepdim)
                         : e.reduceArgMin(op["self"], op.dim("dim"), keepdim);
                 return {e.narrow(best.value, op.result(0)), best.index};
               })
      .when([](const OpCall &op) { return op["self"].rank() > 0; })
      .anySize();
}

static void addArgExtreme(OpTable &t, const char *name, bool max) {
  t.structured(name,
               [max](Emit &e, const OpCall &op) {
                 Value x = op.has("dim") ? op["self"] : e.flatten(op["self"]);
                 int64_t dim = op.has("dim") ? op.dim("dim") : 0;
                 auto best = max ? e.reduceArgMax(x, dim, /*keepdim=*/false)
                                 : e.reduceArgMin(x, dim, /*keepdim=*/false);
                 return e.reshape(best.index, op.result());
               })
      .when([](const OpCall &op) { return op["self"].rank() > 0; })
      .anySize();
}

static Values minMax(Emit &e, const OpCall &op) {
  auto dims = reducedDims(op);
  bool keepdim = op.flag("keepdim");
  return {e.narrow(e.reduceMin(op["self"], dims, keepdim), op.result(0)),
          e.narrow(e.reduceMax(op["self"], dims, keepdim), op.result(1))};
}

/// Mean of squared distances from the mean, in two passes and, as in eager, in
/// double: squares of float32 may be out of its range where their root is not.
/// `correction` (1 by default) is subtracted from the count.
struct Moments {
  Value mean, variance;
};
static Moments moments(Emit &e, const OpCall &op, bool keepdim) {
  Value x = e.cast(op["self"], DType::F64);
  auto dims = reducedDims(op);
  Value mean = e.reduceMean(x, dims);
  Value squares = e.reduceSum(e.square(e.sub(x, mean)), dims, keepdim);
  Value count = e.count(x, dims);
  Value correction = op.has("correction") ? op["correction"] : Value(1);
  Value variance = e.map(squares, [&](Scalar s, Value v) {
    Value degrees = s.sub(s.number(0, v.dtype()), s.sub(correction, count));
    return s.div(v, s.max(degrees, 0.0));
  });
  if (!keepdim)
    mean = e.squeeze(mean, dims);
  return {mean, variance};
}

static Value root(Emit &e, Value x) { return e.sqrt(x); }

static void addMoments(OpTable &t) {
  t.structured("aten::var.correction", [](Emit &e, const OpCall &op) {
     return e.narrow(moments(e, op, op.flag("keepdim")).variance, op.result());
   }).anySize();
  t.structured("aten::std.correction", [](Emit &e, const OpCall &op) {
     auto m = moments(e, op, op.flag("keepdim"));
     return e.narrow(root(e, m.variance), op.result());
   }).anySize();
  t.structured("aten::var_mean.correction",
               [](Emit &e, const OpCall &op) -> Values {
                 auto m = moments(e, op, op.flag("keepdim"));
                 return {e.narrow(m.variance, op.result(0)),
                         e.narrow(m.mean, op.result(1))};
               })
      .anySize();
  t.structured("aten::std_mean.correction",
               [](Emit &e, const OpCall &op) -> Values {
                 auto m = moments(e, op, op.flag("keepdim"));
                 return {e.narrow(root(e, m.variance), op.result(0)),
                         e.narrow(m.mean, op.result(1))};
               })
      .anySize();
}

/// (sum |x|^p)^(1/p), with the limits at 0 and +-infinity.
static Value vectorNorm(Emit &e, const OpCall &op) {
  bool named = op.op == "aten::linalg_vector_norm";
  double p = named ? op.real("ord", 2) : op.has("p") ? op.real("p", 2) : 2;
  auto dims = reducedDims(op);
  bool keepdim = op.flag("keepdim");
  Value x = e.abs(e.cast(op["self"], sumDType(op.result().dtype)));
  Value y;
  if (p == std::numeric_limits<double>::infinity())
    y = e.reduceMax(x, dims, keepdim);
  else if (p == -std::numeric_limits<double>::infinity())
    y = e.reduceMin(x, dims, keepdim);
  else if (p == 0)
    y = e.reduceSum(e.cast(e.ne(x, 0.0), x.dtype()), dims, keepdim);
  else if (p == 1)
    y = e.reduceSum(x, dims, keepdim);
  else if (p == 2)
    y = e.sqrt(e.reduceSum(e.square(x), dims, keepdim));
  else
    y = e.map(
        e.reduceSum(e.map(x, [p](Scalar s, Value v) { return s.pow(v, p); }),
                    dims, keepdim),
        [p](Scalar s, Value v) { return s.pow(v, 1 / p); });
  return e.narrow(y, op.result());
}

static bool isFloatNorm(const OpCall &op) {
  return isFloat(op["self"].dtype()) &&
         // An empty maximum has no value; eager raises or gives 0 by order.
         !llvm::is_contained(op["self"].tensorType().getShape(), 0);
}

static Value logSumExp(Emit &e, const OpCall &op) {
  Value x = e.widen(e.cast(op["self"], op.result().dtype));
  auto dims = reducedDims(op);
  // inf - inf would be NaN: an infinite maximum is not subtracted.
  Value shift = e.map(e.reduceMax(x, dims), [](Scalar s, Value m) {
    return s.select(s.isInf(m), 0.0, m);
  });
  // Eager composes it of ops, each of which rounds.
  auto kept = [&](Value v) { return e.rounded(v, op.result()); };
  Value sum = kept(e.reduceSum(kept(e.exp(kept(e.sub(x, shift)))), dims));
  Value y = e.add(kept(e.log(sum)), shift);
  return e.narrow(op.flag("keepdim") ? y : e.squeeze(y, dims), op.result());
}

static bool isNotEmpty(const OpCall &op) {
  return !llvm::is_contained(op["self"].tensorType().getShape(), 0);
}

/// Counts of integers, as GPUs have them; eager CPU counts floats alone.
static Value histogram(Emit &e, const OpCall &op) {
  Value x = e.cast(e.flatten(op["self"]), DType::I64);
  int64_t bins = op.integer("bins");
  Value least = e.reduceMin(x, 0), most = e.reduceMax(x, 0);
  Shape shape = {e.shape(x)[0], e.shape(op.result())[0]};
  Value hits = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
    Value low = s.cast(op["min"], DType::I64);
    Value high = s.cast(op["max"], DType::I64);
    // Equal bounds stand for those of the data.
    Value unbounded = s.eq(low, high);
    low = s.select(unbounded, s.load(least, {0}), low);
    high = s.select(unbounded, s.load(most, {0}), high);
    Value one = s.cast(s.eq(low, high), DType::I64);
    low = s.sub(low, one);
    high = s.add(high, one);

    Value v = s.load(x, {at[0]});
    Value bin = s.divTrunc(s.mul(s.sub(v, low), bins), s.sub(high, low));
    Value inside = s.logicalAnd(s.ge(v, low), s.le(v, high));
    return s.logicalAnd(inside, s.eq(s.min(bin, bins - 1), at[1]));
  });
  Value counts = e.reduceSum(e.cast(hits, DType::I64), 0, /*keepdim=*/false);
  return e.narrow(counts, op.result());
}

static bool countsIntegers(const OpCall &op) {
  return isInteger(op["self"].dtype()) && isNotEmpty(op);
}

void addReduceOps(OpTable &t) {
  t.structured({"aten::sum", "aten::sum.dim_IntList"}, sum).anySize();
  t.structured({"aten::count_nonzero", "aten::count_nonzero.dim_IntList"},
               countNonzero)
      .anySize();
  t.structured("aten::nansum", nanSum).anySize();
  t.structured({"aten::mean", "aten::mean.dim"}, mean).anySize();
  t.structured({"aten::prod", "aten::prod.dim_int"}, prod).anySize();
  addExtreme(t, {"aten::amax", "aten::max"}, &Emit::reduceMax);
  addExtreme(t, {"aten::amin", "aten::min"}, &Emit::reduceMin);
  addExtreme(t, {"aten::any", "aten::any.dim"}, &Emit::reduceAny);
  addExtreme(t, {"aten::all", "aten::all.dim"}, &Emit::reduceAll);
  addTruth(t, "aten::any.dims", &Emit::reduceAny);
  addTruth(t, "aten::all.dims", &Emit::reduceAll);
  addExtremeWithIndex(t, "aten::max.dim", /*max=*/true);
  addExtremeWithIndex(t, "aten::min.dim", /*max=*/false);
  addArgExtreme(t, "aten::argmax", /*max=*/true);
  addArgExtreme(t, "aten::argmin", /*max=*/false);
  t.structured("aten::aminmax", minMax).anySize();
  addMoments(t);
  t.structured({"aten::linalg_vector_norm", "aten::norm.Scalar",
                "aten::norm.ScalarOpt_dim"},
               vectorNorm)
      .when(isFloatNorm)
      .anySize();
  t.structured("aten::logsumexp", logSumExp).when(isNotEmpty).anySize();
  t.structured("aten::histc", histogram).when(countsIntegers);
}

} // namespace ltc::compiler
