//===- loss.cpp - Losses and their gradients --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <cmath>

namespace ltc::compiler {

/// `reduction` of a loss, as ATen numbers it.
enum Reduction { None = 0, Mean = 1, Sum = 2 };

static llvm::SmallVector<int64_t> allDims(Value x) {
  return llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
}

static Value reduced(Emit &e, const OpCall &op, Value losses) {
  losses = e.rounded(losses, op.result());
  int64_t reduction = op.integer("reduction", Mean);
  if (reduction == Mean)
    losses = e.reduceMean(losses, allDims(losses), /*keepdim=*/false);
  else if (reduction == Sum)
    losses = e.reduceSum(losses, allDims(losses), /*keepdim=*/false);
  return e.narrow(losses, op.result());
}

/// A loss of (self, target) and its derivative by self.
template <typename Loss, typename Slope>
static void addLoss(OpTable &t, const char *name, const char *backward,
                    Loss loss, Slope slope) {
  t.structured(name, [loss](Emit &e, const OpCall &op) {
     Value losses =
         e.map(e.widen(op["self"]), e.widen(op["target"]),
               [&](Scalar s, Value x, Value y) { return loss(s, op, x, y); });
     return reduced(e, op, losses);
   }).anySize();
  t.structured(backward, [slope](Emit &e, const OpCall &op) {
     Value x = e.widen(op["self"]), y = e.widen(op["target"]);
     Value grad = e.widen(op["grad_output"]);
     Value dx = e.map(x, y, grad, [&](Scalar s, Value x, Value y, Value g) {
       return s.mul(slope(s, op, x, y), g);
     });
     if (op.integer("reduction", Mean) == Mean)
       dx = e.div(dx, e.count(dx, allDims(dx)));
     return e.narrow(dx, op.result());
   }).anySize();
}

namespace {
/// Rounds as eager's kernel does that works on one of the 16-bit floats, or on
/// both, step by step. The others' kernels compute in f32 throughout.
struct Steps {
  Scalar s;
  DType stored;
  Value operator()(Value x) { return s.rounded(x, stored); }
};
} // namespace

static Steps stepsOf(Scalar s, const OpCall &op) {
  return {s, op["self"].dtype()};
}
static Steps stepsIf(Scalar s, const OpCall &op, DType dtype) {
  return {s, op["self"].dtype() == dtype ? dtype : DType::F64};
}

static Value mse(Scalar s, const OpCall &op, Value x, Value y) {
  return s.square(stepsOf(s, op)(s.sub(x, y)));
}
static Value mseSlope(Scalar s, const OpCall &op, Value x, Value y) {
  return s.mul(2.0, stepsOf(s, op)(s.sub(x, y)));
}

static Value smoothL1(Scalar s, const OpCall &op, Value x, Value y) {
  Steps kept = stepsIf(s, op, DType::F16);
  Value z = s.abs(kept(s.sub(x, y)));
  Value beta = kept(s.cast(op["beta"], z.dtype()));
  Value inner = s.div(kept(s.mul(kept(s.mul(0.5, z)), z)), beta);
  return s.select(s.lt(z, beta), inner, s.sub(z, s.mul(0.5, beta)));
}
static Value smoothL1Slope(Scalar s, const OpCall &op, Value x, Value y) {
  Value z = s.sub(x, y), beta = s.cast(op["beta"], z.dtype());
  return s.select(s.lt(s.abs(z), beta), s.div(z, beta), s.sign(z));
}

static Value huber(Scalar s, const OpCall &op, Value x, Value y) {
  Steps kept = stepsIf(s, op, DType::BF16);
  Value z = s.abs(kept(s.sub(x, y)));
  Value delta = kept(s.cast(op["delta"], z.dtype()));
  Value outer = kept(s.sub(z, kept(s.mul(0.5, delta))));
  return s.select(s.le(z, delta), s.mul(kept(s.mul(0.5, z)), z),
                  s.mul(delta, outer));
}
static Value huberSlope(Scalar s, const OpCall &op, Value x, Value y) {
  Value z = stepsOf(s, op)(s.sub(x, y)), delta = s.cast(op["delta"], z.dtype());
  return s.max(s.min(z, delta), s.neg(delta));
}

/// Class probabilities' rows: the class dimension is 1, or 0 of a single row.
static int64_t classDim(Value x) { return x.rank() == 1 ? 0 : 1; }

/// Where a sample's class is read: the class put into the target's position.
static Values classPosition(llvm::ArrayRef<Value> sample, int64_t dim,
                            Value c) {
  Values at(sample);
  at.insert(at.begin() + dim, c);
  return at;
}

namespace {
/// The target of one sample.
struct Target {
  Value valid, index, weight;
  Target(Scalar s, const OpCall &op, Value target, int64_t dim) {
    valid = s.ne(target, op.integer("ignore_index", -100));
    Value self = op["self"];
    index = s.checkIndex(s.select(valid, target, 0), s.size(self, dim));
    weight = op.has("weight") ? s.load(op["weight"], {index})
                              : s.number(1.0, computeDType(self.dtype()));
    weight = s.select(valid, weight, 0.0);
  }
};
} // namespace

static Values nllLoss(Emit &e, const OpCall &op) {
  Value x = op["self"], targets = op["target"];
  int64_t dim = classDim(x);
  auto perSample = [&](bool wantsWeight) {
    return e.generate(e.shape(targets), [&](Scalar s,
                                            llvm::ArrayRef<Value> at) {
      Target target(s, op, s.load(targets, at), dim);
      if (wantsWeight)
        return target.weight;
      Value logit = s.load(x, classPosition(at, dim, target.index));
      // Selected, not multiplied: 0 * -inf would be NaN.
      return s.select(target.valid, s.neg(s.mul(logit, target.weight)), 0.0);
    });
  };
  Value losses = perSample(false);
  Value total = e.reduceSum(perSample(true), allDims(targets), false);
  int64_t reduction = op.integer("reduction", Mean);
  if (reduction == None && x.rank() > 1) // eager weighs one sample alone
    total = e.full(e.shape(op.result(1)), op.result(1).dtype, 0);
  if (reduction == None)
    return {e.narrow(losses, op.result(0)), e.narrow(total, op.result(1))};
  Value sum = e.reduceSum(losses, allDims(targets), false);
  if (reduction == Mean)
    sum = e.div(sum, total);
  return {e.narrow(sum, op.result(0)), e.narrow(total, op.result(1))};
}

static Value nllLossBackward(Emit &e, const OpCall &op) {
  Value x = op["self"], targets = op["target"], grad = op["grad_output"];
  int64_t dim = classDim(x), reduction = op.integer("reduction", Mean);
  Value dx = e.generate(e.shape(x), [&](Scalar s, llvm::ArrayRef<Value> at) {
    Values sample(at);
    sample.erase(sample.begin() + dim);
    Target target(s, op, s.load(targets, sample), dim);
    Value g = reduction == None ? s.load(grad, sample) : s.load(grad, {});
    Value d = s.neg(s.mul(target.weight, g));
    if (reduction == Mean)
      d = s.div(d, s.load(op["total_weight"], {}));
    Value hit = s.logicalAnd(target.valid, s.eq(at[dim], target.index));
    return s.select(hit, d, 0.0);
  });
  return e.narrow(dx, op.result());
}

static Value probability(Scalar s, Value x, llvm::StringRef words) {
  return s.checked(x, s.logicalAnd(s.ge(x, 0.0), s.le(x, 1.0)), words);
}

/// Logarithms are bounded below by -100, as in eager.
static Value binaryCrossEntropy(Emit &e, const OpCall &op) {
  Value losses = e.map(e.widen(op["self"]), e.widen(op["target"]),
                       [&](Scalar s, Value x, Value y) {
                         Steps kept = stepsOf(s, op);
                         x = probability(s, x,
                                         "all elements of input should be "
                                         "between 0 and 1");
                         y = probability(s, y,
                                         "all elements of target should be "
                                         "between 0 and 1");
                         Value on = s.max(kept(s.log(x)), -100.0);
                         Value off = s.max(kept(s.log1p(s.neg(x))), -100.0);
                         return s.sub(kept(s.mul(kept(s.sub(y, 1.0)), off)),
                                      kept(s.mul(y, on)));
                       });
  if (op.has("weight"))
    losses = e.mul(e.rounded(losses, op.result()), op["weight"]);
  return reduced(e, op, losses);
}

static Value binaryCrossEntropyBackward(Emit &e, const OpCall &op) {
  Value x = e.widen(op["self"]), y = e.widen(op["target"]);
  Value dx = e.map(x, y, e.widen(op["grad_output"]),
                   [&](Scalar s, Value x, Value y, Value g) {
                     Steps kept = stepsOf(s, op);
                     Value bound = s.max(kept(s.mul(kept(s.sub(1.0, x)), x)),
                                         kept(1e-12));
                     return s.div(kept(s.mul(g, kept(s.sub(x, y)))), bound);
                   });
  if (op.has("weight"))
    dx = e.mul(e.rounded(dx, op.result()), op["weight"]);
  if (op.integer("reduction", Mean) == Mean)
    dx = e.div(e.rounded(dx, op.result()), e.count(dx, allDims(dx)));
  return e.narrow(dx, op.result());
}

/// (1 - y) x - w logsigmoid(x) with w = 1 + (pos_weight - 1) y. Eager composes
/// it of ops, each of which rounds.
static Value binaryCrossEntropyWithLogits(Emit &e, const OpCall &op) {
  Value x = e.widen(op["self"]), y = e.widen(op["target"]);
  Value logSigmoid = e.map(x, [&](Scalar s, Value x) {
    Value rest = s.log1p(s.exp(s.neg(s.abs(x))));
    return stepsOf(s, op)(s.sub(s.min(x, 0.0), rest));
  });
  if (op.has("pos_weight")) {
    Value weight =
        e.map(e.widen(op["pos_weight"]), y, [&](Scalar s, Value p, Value y) {
          Steps kept = stepsOf(s, op);
          return kept(s.add(kept(s.mul(kept(s.sub(p, 1.0)), y)), 1.0));
        });
    logSigmoid = e.rounded(e.mul(logSigmoid, weight), op.result());
  }
  Value losses =
      e.map(x, y, logSigmoid, [&](Scalar s, Value x, Value y, Value l) {
        Steps kept = stepsOf(s, op);
        return kept(s.sub(kept(s.mul(kept(s.sub(1.0, y)), x)), l));
      });
  if (op.has("weight"))
    losses = e.mul(losses, op["weight"]);
  return reduced(e, op, losses);
}

void addLossOps(OpTable &t) {
  addLoss(t, "aten::mse_loss", "aten::mse_loss_backward", mse, mseSlope);
  addLoss(t, "aten::smooth_l1_loss", "aten::smooth_l1_loss_backward", smoothL1,
          smoothL1Slope);
  addLoss(t, "aten::huber_loss", "aten::huber_loss_backward", huber,
          huberSlope);
  t.structured({"aten::nll_loss_forward", "aten::nll_loss2d_forward"}, nllLoss)
      .anySize();
  t.structured({"aten::nll_loss_backward", "aten::nll_loss2d_backward"},
               nllLossBackward)
      .anySize();
  t.structured("aten::binary_cross_entropy", binaryCrossEntropy).anySize();
  t.structured("aten::binary_cross_entropy_backward",
               binaryCrossEntropyBackward)
      .anySize();
  t.structured("aten::binary_cross_entropy_with_logits",
               binaryCrossEntropyWithLogits)
      .anySize();
}

} // namespace ltc::compiler
