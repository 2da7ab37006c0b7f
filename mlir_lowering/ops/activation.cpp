//===- activation.cpp - Activations and their gradients ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <cmath>

namespace ltc::compiler {

constexpr double kTanhScale = M_SQRT2 * M_2_SQRTPI * 0.5; // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;

struct Normal {
  Value density, cdf;
};

/// The standard normal distribution at x. In f32 what lies beyond |x| is
/// density(x) t q(t), t = 1 / (1 + 0.33 |x|), after Abramowitz and Stegun's
/// 7.1.26: the exponential serves both results, an erf needs one of its own.
/// q is a minimax fit; cdf is within 1.7e-7, for x > -6 within 1e-5 of itself.
static Normal standardNormal(Scalar s, Value x) {
  Value exp = s.exp(s.mul(s.square(x), -0.5));
  Value density = s.mul(exp, M_2_SQRTPI * M_SQRT1_2 * 0.5);
  if (x.dtype() == DType::F64)
    return {density, s.mul(s.add(s.erf(s.mul(x, M_SQRT1_2)), 1.0), 0.5)};
  Value t = s.div(1.0, s.mulAdd(s.abs(x), 0.33, 1.0));
  Value q = 0.0461865254;
  for (double coefficient : {-0.223653659, 0.337302655, -0.0956314802,
                             0.184714958, 0.11831993, 0.132761076})
    q = s.mulAdd(q, t, coefficient);
  Value beyond = s.mul(exp, s.mul(q, t));
  return {density, s.select(s.lt(x, 0.0), beyond, s.sub(1.0, beyond))};
}

static Value gelu(Scalar s, const Elements &x) {
  Value self = x["self"];
  if (x.op.text("approximate") == "tanh") {
    Value cubed = s.mul(s.square(self), self);
    Value inner = s.mul(s.add(self, s.mul(cubed, kTanhCubic)), kTanhScale);
    return s.mul(s.mul(self, 0.5), s.add(s.tanh(inner), 1.0));
  }
  return s.mul(self, standardNormal(s, self).cdf);
}

static Value geluBackward(Scalar s, const Elements &x) {
  Value grad = x["grad_output"], self = x["self"];
  if (x.op.text("approximate") == "tanh") {
    Value squared = s.square(self), cubed = s.mul(squared, self);
    Value inner = s.mul(s.add(self, s.mul(cubed, kTanhCubic)), kTanhScale);
    Value tanh = s.tanh(inner);
    Value left = s.mul(self, 0.5), right = s.add(tanh, 1.0);
    Value slope = s.mul(s.add(s.mul(squared, 3 * kTanhCubic), 1.0), kTanhScale);
    Value curve = s.mul(s.mul(left, s.sub(1.0, s.square(tanh))), slope);
    return s.mul(grad, s.add(s.mul(right, 0.5), curve));
  }
  auto [density, cdf] = standardNormal(s, self);
  return s.mul(grad, s.add(cdf, s.mul(self, density)));
}

static Value softmax(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim");
  Value x = e.widen(op["self"]); // sums of bf16 are taken in f32
  Value p = e.exp(e.sub(x, e.reduceMax(x, dim)));
  return e.narrow(e.div(p, e.reduceSum(p, dim)), op.result());
}

/// A row that is -inf throughout gives zeros instead of NaN.
static Value safeSoftmax(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim");
  Value x = e.widen(e.cast(op["self"], op.result().dtype));
  Value largest = e.reduceMax(x, dim);
  Value p = e.map(x, largest, [](Scalar s, Value v, Value m) {
    Value masked = s.logicalAnd(s.isInf(m), s.lt(m, 0.0));
    return s.exp(s.sub(v, s.select(masked, 0.0, m)));
  });
  Value y = e.map(p, e.reduceSum(p, dim), [](Scalar s, Value v, Value sum) {
    return s.select(s.eq(sum, 0.0), 0.0, s.div(v, sum));
  });
  return e.narrow(y, op.result());
}

static Value logSoftmax(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim");
  Value x = e.widen(op["self"]);
  Value largest = e.reduceMax(x, dim);
  Value sum = e.reduceSum(e.exp(e.sub(x, largest)), dim);
  // Eager keeps the sum of a row as the result's dtype, of a column as f32.
  bool isRow = dim + 1 >= x.rank();
  Value log = e.log(isRow ? e.rounded(sum, op.result()) : sum);
  if (isRow)
    log = e.rounded(log, op.result());
  return e.narrow(e.sub(e.sub(x, largest), log), op.result());
}

static Value softmaxBackward(Emit &e, const OpCall &op) {
  Value grad = e.widen(op["grad_output"]), y = e.widen(op["output"]);
  Value sum = e.reduceSum(e.mul(grad, y), op.dim("dim"));
  return e.narrow(e.mul(e.sub(grad, sum), y), op.result());
}

static Value logSoftmaxBackward(Emit &e, const OpCall &op) {
  Value grad = e.widen(op["grad_output"]), y = e.widen(op["output"]);
  Value sum = e.reduceSum(grad, op.dim("dim"));
  return e.narrow(e.sub(grad, e.mul(e.exp(y), sum)), op.result());
}

/// min(0, x) - log1p(exp(-|x|)); the second result keeps exp(-|x|).
static Values logSigmoid(Emit &e, const OpCall &op) {
  Value z = e.map(e.widen(op["self"]),
                  [](Scalar s, Value x) { return s.exp(s.neg(s.abs(x))); });
  Value y = e.map(e.widen(op["self"]), z, [](Scalar s, Value x, Value z) {
    return s.sub(s.min(x, 0.0), s.log1p(z));
  });
  return {e.narrow(y, op.result(0)), e.narrow(z, op.result(1))};
}

/// The halves of x along the gated dimension.
static std::pair<Value, Value> halves(Emit &e, Value x, int64_t dim) {
  int64_t half = x.size(dim) / 2;
  return {e.slice(x, dim, 0, half), e.slice(x, dim, half, 2 * half)};
}

static Value glu(Emit &e, const OpCall &op) {
  auto [value, gate] = halves(e, op["self"], op.dim("dim", -1));
  Value y =
      e.map(e.widen(value), e.widen(gate),
            [](Scalar s, Value v, Value g) { return s.mul(v, s.sigmoid(g)); });
  return e.narrow(y, op.result());
}

static Value gluBackward(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim", -1, op["self"]);
  auto [value, gate] = halves(e, op["self"], dim);
  Value grad = e.widen(op["grad_output"]);
  Value gateSigmoid = e.rounded(
      e.map(e.widen(gate), [](Scalar s, Value g) { return s.sigmoid(g); }),
      op.result());
  Value byValue = e.mul(grad, gateSigmoid);
  Value byGate = e.map(gateSigmoid, e.widen(value), grad,
                       [](Scalar s, Value g, Value v, Value d) {
                         Value slope = s.mul(s.sub(1.0, g), g);
                         return s.mul(s.mul(slope, v), d);
                       });
  return e.concat(
      {e.narrow(byValue, op.result()), e.narrow(byGate, op.result())}, dim);
}

static bool hasStaticSplit(const OpCall &op) {
  return !isSymbolic(op["self"].size(op.dim("dim", -1, op["self"])));
}

static Values preluBackward(Emit &e, const OpCall &op) {
  Values grads =
      e.mapMany({op["grad_output"], op["self"], op["weight"]},
                [](Scalar s, llvm::ArrayRef<Value> v) -> Values {
                  Value positive = s.gt(v[1], 0.0);
                  return {s.select(positive, v[0], s.mul(v[2], v[0])),
                          s.select(positive, 0.0, s.mul(v[1], v[0]))};
                });
  return {e.narrow(grads[0], op.result(0)), e.narrow(grads[1], op.result(1))};
}

static void addRelus(OpTable &t) {
  // Not s.max: NaN stays, and so does a zero of either sign.
  t.pointwise("aten::relu",
              [](Scalar s, Value x) { return s.select(s.lt(x, 0), 0, x); });
  t.pointwise("aten::threshold",
              [](Scalar s, Value x, Value threshold, Value value) {
                return s.select(s.le(x, threshold), value, x);
              });
  t.pointwise("aten::threshold_backward",
              [](Scalar s, Value grad, Value x, Value threshold) {
                return s.select(s.le(x, threshold), 0, grad);
              });
  t.pointwise("aten::leaky_relu", [](Scalar s, Value x, Value slope) {
    return s.select(s.gt(x, 0.0), x, s.mul(x, slope));
  });
  t.pointwise("aten::leaky_relu_backward",
              [](Scalar s, Value grad, Value x, Value slope) {
                return s.select(s.gt(x, 0.0), grad, s.mul(grad, slope));
              });
  t.pointwise("aten::hardtanh_backward",
              [](Scalar s, Value grad, Value x, Value low, Value high) {
                Value outside = s.logicalOr(s.le(x, low), s.ge(x, high));
                return s.select(outside, 0, grad);
              });
  t.pointwise("aten::_prelu_kernel", [](Scalar s, Value x, Value weight) {
    return s.select(s.gt(x, 0.0), x, s.mul(weight, x));
  });
  t.structured("aten::_prelu_kernel_backward", preluBackward).anySize();
  t.pointwise("aten::elu", [](Scalar s, const Elements &x) {
    Value self = x["self"];
    Value scale = x["scale"] ? x["scale"] : Value(1.0);
    Value alpha = x["alpha"] ? x["alpha"] : Value(1.0);
    Value inner = x["input_scale"] ? s.mul(self, x["input_scale"]) : self;
    return s.select(s.lt(self, 0.0),
                    s.mul(s.expm1(inner), s.mul(s.number(1.0, self.dtype()),
                                                s.mul(alpha, scale))),
                    s.mul(self, scale));
  });
  t.pointwise("aten::celu", [](Scalar s, Value x, Value alpha) {
    if (!alpha)
      alpha = 1.0;
    Value below = s.mul(s.expm1(s.div(x, alpha)), alpha);
    return s.select(s.lt(x, 0.0), below, x);
  });
  t.pointwise("aten::elu_backward", [](Scalar s, const Elements &x) {
    Value grad = x["grad_output"], y = x["self_or_result"];
    Value one = s.number(1.0, grad.dtype());
    Value negative = s.mul(s.mul(one, x["alpha"]), x["scale"]);
    Value outer = s.mul(grad, x["input_scale"]);
    Value below =
        x.op.flag("is_result")
            ? s.mul(outer, s.add(y, negative))
            : s.mul(s.mul(outer, negative), s.exp(s.mul(y, x["input_scale"])));
    return s.select(s.le(y, 0.0), below, s.mul(grad, x["scale"]));
  });
}

static void addSmooth(OpTable &t) {
  t.pointwise("aten::gelu", gelu);
  t.pointwise("aten::gelu_backward", geluBackward);
  t.pointwise("aten::silu", [](Scalar s, Value x) {
    return s.div(x, s.add(s.exp(s.neg(x)), 1.0));
  });
  t.pointwise("aten::silu_backward", [](Scalar s, Value grad, Value x) {
    Value sigmoid = s.sigmoid(x);
    Value slope = s.add(s.mul(x, s.sub(1.0, sigmoid)), 1.0);
    return s.mul(s.mul(grad, sigmoid), slope);
  });
  t.pointwise("aten::mish", [](Scalar s, Value x) {
    return s.mul(x, s.tanh(s.log1p(s.exp(x))));
  });
  t.pointwise("aten::mish_backward", [](Scalar s, Value grad, Value x) {
    Value tanh = s.tanh(s.log1p(s.exp(x)));
    Value slope = s.mul(s.mul(x, s.sigmoid(x)), s.sub(1.0, s.square(tanh)));
    return s.mul(grad, s.add(tanh, slope));
  });
  t.pointwise("aten::softplus",
              [](Scalar s, Value x, Value beta, Value threshold) {
                Value scaled = s.mul(x, beta);
                return s.select(s.gt(scaled, threshold), x,
                                s.div(s.log1p(s.exp(scaled)), beta));
              });
  t.pointwise("aten::softplus_backward",
              [](Scalar s, Value grad, Value x, Value beta, Value threshold) {
                Value scaled = s.mul(x, beta), z = s.exp(scaled);
                return s.select(s.gt(scaled, threshold), grad,
                                s.div(s.mul(grad, z), s.add(z, 1.0)));
              });
  t.pointwise("aten::sigmoid_backward", [](Scalar s, const Elements &x) {
    // f16 is multiplied in f16, bf16 in f32.
    DType dtype = x.op.result().dtype;
    auto kept = [&](Value v) {
      return dtype == DType::F16 ? s.rounded(v, dtype) : v;
    };
    Value y = x["output"], rest = kept(s.sub(1.0, y));
    return s.mul(kept(s.mul(x["grad_output"], rest)), y);
  });
  t.pointwise("aten::tanh_backward", [](Scalar s, Value grad, Value y) {
    return s.mul(grad, s.sub(1.0, s.square(y)));
  });
  t.structured("aten::log_sigmoid_forward", logSigmoid)
      .when([](const OpCall &op) {
        return op.result(0).type == op.result(1).type &&
               op.result(0).sizes == op.result(1).sizes;
      })
      .anySize();
  t.pointwise(
      "aten::log_sigmoid_backward", [](Scalar s, Value grad, Value x, Value z) {
        Value negative = s.lt(x, 0.0);
        Value limit = s.select(negative, 1.0, s.number(0.0, x.dtype()));
        Value sign = s.select(negative, 1.0, s.number(-1.0, x.dtype()));
        Value slope = s.sub(limit, s.mul(sign, s.div(z, s.add(z, 1.0))));
        return s.mul(grad, slope);
      });
}

static void addHardAndShrink(OpTable &t) {
  t.pointwise("aten::hardsigmoid", [](Scalar s, Value x) {
    return s.div(s.min(s.max(s.add(x, 3.0), 0.0), 6.0), 6.0);
  });
  t.pointwise("aten::hardsigmoid_backward", [](Scalar s, Value grad, Value x) {
    Value inside = s.logicalAnd(s.gt(x, -3.0), s.lt(x, 3.0));
    return s.select(inside, s.mul(grad, 1.0 / 6), 0.0);
  });
  t.pointwise("aten::hardswish", [](Scalar s, Value x) {
    return s.div(s.mul(x, s.min(s.max(s.add(x, 3.0), 0.0), 6.0)), 6.0);
  });
  t.pointwise("aten::hardswish_backward", [](Scalar s, Value grad, Value x) {
    Value middle = s.mul(grad, s.add(s.div(x, 3.0), 0.5));
    return s.select(s.le(x, -3.0), 0.0, s.select(s.lt(x, 3.0), middle, grad));
  });
  t.pointwise("aten::softshrink", [](Scalar s, Value x, Value lambda) {
    Value middle = s.mul(x, 0.0); // with its sign, or NaN
    Value low = s.select(s.lt(x, s.neg(lambda)), s.add(x, lambda), middle);
    return s.select(s.gt(x, lambda), s.sub(x, lambda), low);
  });
  t.pointwise("aten::hardshrink", [](Scalar s, Value x, Value lambda) {
    return s.select(s.le(s.abs(x), lambda), 0.0, x);
  });
  t.pointwise({"aten::softshrink_backward", "aten::hardshrink_backward"},
              [](Scalar s, Value grad, Value x, Value lambda) {
                return s.select(s.le(s.abs(x), lambda), 0.0, grad);
              });
}

void addActivationOps(OpTable &t) {
  addRelus(t);
  addSmooth(t);
  addHardAndShrink(t);
  t.structured("aten::glu", glu).when(hasStaticSplit).anySize();
  t.structured("aten::glu_backward", gluBackward)
      .when(hasStaticSplit)
      .anySize();
  t.structured("aten::_softmax", softmax).anySize();
  t.structured("aten::_safe_softmax", safeSoftmax).anySize();
  t.structured("aten::_log_softmax", logSoftmax).anySize();
  t.structured("aten::_softmax_backward_data", softmaxBackward).anySize();
  t.structured("aten::_log_softmax_backward_data", logSoftmaxBackward)
      .anySize();
}

} // namespace ltc::compiler
