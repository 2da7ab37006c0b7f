//===- normalize.cpp - Layer, batch and group norm --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas: Ba et al. 2016 (layer norm), Ioffe and Szegedy 2015 (batch norm),
// Wu and He 2018 (group norm). Statistics are taken in f32 or wider.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static llvm::SmallVector<int64_t> dimsFrom(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}

static Value reciprocalRoot(Emit &e, Value variance, Value eps) {
  return e.map(variance,
               [&](Scalar s, Value v) { return s.rsqrt(s.add(v, eps)); });
}

/// The gradients that output_mask asks for: the call has just these results.
class MaskedResults {
public:
  explicit MaskedResults(const OpCall &op)
      : op(op), mask(op.flags("output_mask")) {}
  bool wants(size_t index) const { return mask.empty() || mask[index]; }
  void give(Emit &e, Value value) {
    values.push_back(e.narrow(value, op.result(values.size())));
  }
  Values take() { return std::move(values); }

private:
  const OpCall &op;
  llvm::SmallVector<bool> mask;
  Values values;
};

/// x * scale + shift, rounded once.
static Value scaleAndShift(Emit &e, Value x, Value scale, Value shift) {
  return e.map(x, scale, shift, [](Scalar s, Value x, Value a, Value b) {
    return s.mulAdd(x, a, b);
  });
}

static Values layerNorm(Emit &e, const OpCall &op) {
  Value x = e.widen(op["input"]);
  int64_t normalized = op.integers("normalized_shape").size();
  auto dims = dimsFrom(x.rank() - normalized, x.rank());
  Value mean = e.reduceMean(x, dims);
  Value centered = e.sub(x, mean);
  Value variance = e.reduceMean(e.square(centered), dims);
  Value rstd = reciprocalRoot(e, variance, op["eps"]);
  // Eager's kernel for 16-bit floats does not subtract the mean first, which
  // shows where that leaves nothing.
  Value y = x.dtype() != op["input"].dtype()
                ? scaleAndShift(e, x, rstd, e.mul(e.neg(rstd), mean))
                : e.mul(centered, rstd);
  if (op.has("weight"))
    y = e.mul(y, op["weight"]);
  if (op.has("bias"))
    y = e.add(y, op["bias"]);
  return {e.narrow(y, op.result(0)), e.narrow(mean, op.result(1)),
          e.narrow(rstd, op.result(2))};
}

static Values layerNormBackward(Emit &e, const OpCall &op) {
  Value dy = e.widen(op["grad_out"]), x = e.widen(op["input"]);
  int64_t normalized = op.integers("normalized_shape").size();
  auto inner = dimsFrom(x.rank() - normalized, x.rank());
  auto outer = dimsFrom(0, x.rank() - normalized);
  Value normal = e.mul(e.sub(x, op["mean"]), op["rstd"]);
  MaskedResults results(op);
  if (results.wants(0)) {
    Value g = op.has("weight") ? e.mul(dy, op["weight"]) : dy;
    Value shift = e.reduceMean(g, inner);
    Value tilt = e.reduceMean(e.mul(g, normal), inner);
    results.give(
        e, e.mul(e.sub(e.sub(g, shift), e.mul(normal, tilt)), op["rstd"]));
  }
  if (results.wants(1))
    results.give(e, e.reduceSum(e.mul(dy, normal), outer, /*keepdim=*/false));
  if (results.wants(2))
    results.give(e, e.reduceSum(dy, outer, /*keepdim=*/false));
  return results.take();
}

/// Everything but the channel dimension, which is 1.
static llvm::SmallVector<int64_t> batchDims(Value x) {
  llvm::SmallVector<int64_t> dims{0};
  llvm::append_range(dims, dimsFrom(2, x.rank()));
  return dims;
}

/// A tensor over channels with dimensions of size 1 around it, as x has them.
static Value overChannels(Emit &e, Value channels, Value x) {
  return e.unsqueeze(channels, batchDims(x));
}

/// (x - mean) * invstd * weight + bias, as one product and one sum.
static Value normalized(Emit &e, Value x, Value mean, Value invstd,
                        const OpCall &op) {
  Value scale = op.has("weight") ? e.mul(invstd, op["weight"]) : invstd;
  Value shift = e.mul(mean, scale);
  shift = op.has("bias") ? e.sub(op["bias"], shift) : e.neg(shift);
  return scaleAndShift(e, x, overChannels(e, scale, x),
                       overChannels(e, shift, x));
}

/// momentum * batch + (1 - momentum) * running, each product rounded.
static Value follow(Emit &e, Value running, Value batch, Value momentum,
                    ResultType to) {
  Value next = e.map(
      e.widen(running), e.rounded(batch, to), [&](Scalar s, Value r, Value v) {
        auto kept = [&](Value x) { return s.rounded(x, to.dtype); };
        Value m = s.cast(momentum, v.dtype()), rest = kept(s.sub(1.0, m));
        return s.add(kept(s.mul(kept(m), v)), kept(s.mul(rest, r)));
      });
  return e.narrow(next, to);
}

/// Training: statistics of the batch; with running ones, their new values are
/// the results after the third (_native_batch_norm_legit_functional).
static Values batchNormTraining(Emit &e, const OpCall &op) {
  Value x = e.widen(op["input"]);
  auto dims = batchDims(x);
  auto kept = [&](Value v) { return e.rounded(v, op.result(2)); };
  Value mean = e.reduceMean(x, dims), flatMean = e.squeeze(mean, dims);
  Value squares =
      kept(e.squeeze(e.reduceSum(e.square(e.sub(x, mean)), dims), dims));
  Value count = e.count(x, dims);
  Value invstd = reciprocalRoot(e, kept(e.div(squares, count)), op["eps"]);
  // What backward reads is what forward uses.
  Value y = normalized(e, x, kept(flatMean), kept(invstd), op);
  Values results{e.narrow(y, op.result(0)), e.narrow(flatMean, op.result(1)),
                 e.narrow(invstd, op.result(2))};
  if (op.resultCount() == 3)
    return results;
  Value unbiased = e.map(squares, [&](Scalar s, Value v) {
    Value n = s.cast(count.isLiteral() ? s.number(count, DType::F64) : count,
                     v.dtype());
    return s.div(v, s.sub(n, 1.0));
  });
  Value momentum = op["momentum"];
  results.push_back(
      follow(e, op["running_mean"], flatMean, momentum, op.result(3)));
  results.push_back(
      follow(e, op["running_var"], unbiased, momentum, op.result(4)));
  return results;
}

static Values batchNormInference(Emit &e, const OpCall &op) {
  auto empty = [&](size_t i) {
    return e.full(e.shape(op.result(i)), op.result(i).dtype, 0);
  };
  auto normal = [&] {
    Value x = e.widen(op["input"]);
    Value mean = e.widen(op["running_mean"]);
    Value invstd = reciprocalRoot(e, e.widen(op["running_var"]), op["eps"]);
    return e.narrow(normalized(e, x, mean, invstd, op), op.result(0));
  };
  // Only of no samples at all need there be no statistics; eager saves none.
  Values results{op.has("running_mean") ? normal() : empty(0)};
  for (size_t i : {1, 2})
    results.push_back(empty(i));
  for (size_t i = 3; i < op.resultCount(); ++i)
    results.push_back(
        e.narrow(op[i == 3 ? "running_mean" : "running_var"], op.result(i)));
  return results;
}

static Values batchNorm(Emit &e, const OpCall &op) {
  return op.flag("training") ? batchNormTraining(e, op)
                             : batchNormInference(e, op);
}

static Values batchNormBackward(Emit &e, const OpCall &op) {
  Value dy = e.widen(op["grad_out"]), x = e.widen(op["input"]);
  bool train = op.flag("train");
  auto dims = batchDims(x);
  Value mean = e.widen(op[train ? "save_mean" : "running_mean"]);
  Value invstd = train
                     ? e.widen(op["save_invstd"])
                     : reciprocalRoot(e, e.widen(op["running_var"]), op["eps"]);
  mean = overChannels(e, mean, x);
  invstd = overChannels(e, invstd, x);
  Value centered = e.sub(x, mean);
  Value sum = e.reduceSum(dy, dims);
  Value dot = e.reduceSum(e.mul(centered, dy), dims);
  MaskedResults results(op);
  if (results.wants(0)) {
    Value dx = dy;
    if (train) {
      Value count = e.count(x, dims);
      Value slope = e.mul(e.div(dot, count), e.square(invstd));
      dx = e.sub(e.sub(dy, e.div(sum, count)), e.mul(centered, slope));
    }
    dx = e.mul(dx, invstd);
    if (op.has("weight"))
      dx = e.mul(dx, overChannels(e, op["weight"], x));
    results.give(e, dx);
  }
  if (results.wants(1))
    results.give(e, e.squeeze(e.mul(dot, invstd), dims));
  if (results.wants(2))
    results.give(e, e.squeeze(sum, dims));
  return results.take();
}

namespace {
/// Group norm's view of [N, C, *] as [N, groups, C / groups, HxW].
struct Groups {
  int64_t batch, groups, channels, area;
  explicit Groups(const OpCall &op)
      : batch(op.integer("N")), groups(op.integer("group")),
        channels(op.integer("C") / op.integer("group")),
        area(op.integer("HxW")) {}
  Value split(Emit &e, Value x) const {
    return e.reshape(x, {batch, groups, channels, area});
  }
  /// A tensor over all channels, to multiply with split().
  Value perChannel(Emit &e, Value w) const {
    return e.reshape(w, {1, groups, channels, 1});
  }
  Value perGroup(Emit &e, Value statistic) const {
    return e.reshape(statistic, {batch, groups, 1, 1});
  }
};
} // namespace

static Values groupNorm(Emit &e, const OpCall &op) {
  Groups g(op);
  Value x = g.split(e, e.widen(op["input"]));
  Value mean = e.reduceMean(x, {2, 3});
  Value centered = e.sub(x, mean);
  Value variance = e.reduceMean(e.square(centered), {2, 3});
  Value rstd = reciprocalRoot(e, variance, op["eps"]);
  Value y = e.mul(centered, rstd);
  if (op.has("weight"))
    y = e.mul(y, g.perChannel(e, op["weight"]));
  if (op.has("bias"))
    y = e.add(y, g.perChannel(e, op["bias"]));
  return {e.reshape(e.narrow(y, op.result(0)), op.result(0)),
          e.reshape(e.narrow(mean, op.result(1)), op.result(1)),
          e.reshape(e.narrow(rstd, op.result(2)), op.result(2))};
}

static Values groupNormBackward(Emit &e, const OpCall &op) {
  Groups g(op);
  Value dy = g.split(e, e.widen(op["grad_out"]));
  Value x = g.split(e, e.widen(op["input"]));
  Value mean = g.perGroup(e, e.widen(op["mean"]));
  Value rstd = g.perGroup(e, e.widen(op["rstd"]));
  Value normal = e.mul(e.sub(x, mean), rstd);
  MaskedResults results(op);
  if (results.wants(0)) {
    Value scaled =
        op.has("weight") ? e.mul(dy, g.perChannel(e, op["weight"])) : dy;
    Value shift = e.reduceMean(scaled, {2, 3});
    Value tilt = e.reduceMean(e.mul(scaled, normal), {2, 3});
    Value dx = e.mul(e.sub(e.sub(scaled, shift), e.mul(normal, tilt)), rstd);
    results.give(e, e.reshape(dx, op.result(0)));
  }
  auto channelSum = [&](Value v) {
    Value sums = e.reduceSum(v, {0, 3}, /*keepdim=*/false);
    return e.reshape(sums, {g.groups * g.channels});
  };
  if (results.wants(1))
    results.give(e, channelSum(e.mul(dy, normal)));
  if (results.wants(2))
    results.give(e, channelSum(dy));
  return results.take();
}

static bool knowsChannels(const OpCall &op) {
  return !isSymbolic(op.integer("C")) && !isSymbolic(op.integer("group"));
}

void addNormalizeOps(OpTable &t) {
  t.structured("aten::native_layer_norm", layerNorm).anySize();
  t.structured("aten::native_layer_norm_backward", layerNormBackward).anySize();
  t.structured({"aten::native_batch_norm",
                "aten::_native_batch_norm_legit_functional",
                "aten::_native_batch_norm_legit.no_stats",
                "aten::_native_batch_norm_legit_no_training"},
               batchNorm)
      .anySize();
  t.structured("aten::native_batch_norm_backward", batchNormBackward).anySize();
  t.structured("aten::native_group_norm", groupNorm)
      .when(knowsChannels)
      .anySize();
  t.structured("aten::native_group_norm_backward", groupNormBackward)
      .when(knowsChannels)
      .anySize();
}

} // namespace ltc::compiler
