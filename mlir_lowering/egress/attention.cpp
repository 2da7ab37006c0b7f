//===- attention.cpp - Attention as products --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/whole_ops.h"
#include "mlir_lowering/lower/product.h"

#include <cmath>
#include <limits>

namespace ltc::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What all calls of attention have: tensors [batch, heads, length, size].
class Attention {
public:
  Attention(Emit &e, const OpCall &op)
      : e(e), op(op), query(op["query"]), key(op["key"]), value(op["value"]) {}

  /// Over the last dimension of one and the last but one of the other.
  Value product(Value x, Value y) {
    int64_t batch = e.product({x.size(0), x.size(1)});
    int64_t rows = x.size(2), columns = y.size(3);
    Value flat = namedProduct(e, e.reshape(x, {batch, rows, x.size(3)}),
                              e.reshape(y, {batch, y.size(2), columns}),
                              {batch, rows, columns}, x.dtype());
    return e.reshape(flat, {x.size(0), x.size(1), rows, columns});
  }
  Value turned(Value x) { return e.transpose(x, 2, 3); }
  Value scaled(Value x) {
    Value scale = op["scale"];
    return e.mul(x, scale ? scale : Value(1 / std::sqrt(query.size(3))));
  }

  /// How much each query looks at each key, -inf for those it may not see.
  Value scores() {
    Value x = scaled(product(query, turned(key)));
    if (Value mask = op["attn_mask"])
      x = mask.dtype() == DType::Bool ? e.select(mask, x, -kInfinity)
                                      : e.add(x, e.cast(mask, x.dtype()));
    if (!op.flag("is_causal"))
      return x;
    return e.mapMany({x}, [](Scalar s, llvm::ArrayRef<Value> v) -> Values {
      Value sees = s.le(s.index(3), s.index(2));
      return {s.select(sees, v[0], s.number(-kInfinity, v[0].dtype()))};
    })[0];
  }
  /// A row's greatest, or 0 where it sees nothing.
  Value finite(Value x) { return e.select(e.eq(x, -kInfinity), 0.0, x); }

  Emit &e;
  const OpCall &op;
  Value query, key, value;
};

Values attention(Emit &e, const OpCall &op) {
  Attention a(e, op);
  Value scores = a.scores();
  Value most = a.finite(e.reduceMax(scores, {3}));
  Value power = e.exp(e.sub(scores, most));
  Value sum = e.reduceSum(power, {3});
  Value seen = e.select(e.eq(sum, 0.0), 1.0, sum);
  Value weights = e.narrow(e.div(power, seen), op.result(0));
  Value result = a.product(weights, a.value);
  Value logSum = e.squeeze(e.add(most, e.log(sum)), {3});
  return {e.narrow(result, op.result(0)), e.narrow(logSum, op.result(1))};
}

Values attentionBackward(Emit &e, const OpCall &op) {
  Attention a(e, op);
  Value error = op["grad_out"];
  Value logSum = e.unsqueeze(a.finite(op["logsumexp"]), {3});
  Value weights = e.exp(e.sub(a.scores(), logSum));
  Value toValue = a.product(a.turned(weights), e.widen(error));
  Value toWeights = a.product(error, a.turned(a.value));
  Value along = e.reduceSum(e.mul(e.widen(error), e.widen(op["out"])), {3});
  Value toScores = a.scaled(e.mul(weights, e.sub(toWeights, along)));
  Value toQuery = a.product(toScores, e.widen(a.key));
  Value toKey = a.product(a.turned(toScores), e.widen(a.query));
  return {e.narrow(toQuery, op.result(0)), e.narrow(toKey, op.result(1)),
          e.narrow(toValue, op.result(2))};
}

bool isPlain(const OpCall &op) {
  return op.real("dropout_p") == 0 && op["query"].size(1) == op["key"].size(1);
}

} // namespace

void addAttentionDecompositions(OpTable &t) {
  t.structured("aten::_scaled_dot_product_flash_attention_for_cpu", attention)
      .when(isPlain);
  t.structured("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
               attentionBackward)
      .when(isPlain);
}

} // namespace ltc::compiler
