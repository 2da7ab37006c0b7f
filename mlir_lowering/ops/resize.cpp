//===- resize.cpp - Resampling by whole factors -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where one size is a multiple of the other, resampling is reading, or adding
// up, blocks of that many elements. Other sizes are library calls.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

constexpr int64_t kLeading = 2; // batch and channels come first

/// How often each dimension of `small` goes into that of `large`: by formula,
/// where they are symbolic. None if one is no multiple, or 0.
static Shape blocksOf(Value x, Dims large, Dims small) {
  SizeTable &table = sizeTable(x.ir().getContext());
  Shape factors;
  for (auto [from, to] : llvm::zip_equal(large, small)) {
    Formula whole = table.formula(from), part = table.formula(to);
    int64_t factor = part.content() ? whole.content() / part.content() : 0;
    if (factor == 0 || part * factor != whole)
      return {};
    factors.push_back(factor);
  }
  return factors;
}

namespace {
/// An op between a large tensor and a small one: a block for each element.
struct Resize {
  Value x;
  ResultType to;
  Shape factors;

  static Resize enlarging(const OpCall &op, llvm::StringRef name) {
    Value x = op[name];
    return {x, op.result(), blocksOf(x, op.result().sizes, x.sizes())};
  }
  static Resize shrinking(const OpCall &op, llvm::StringRef name) {
    Value x = op[name];
    return {x, op.result(), blocksOf(x, x.sizes(), op.result().sizes)};
  }
  bool isEven() const { return !factors.empty(); }

  /// Each element of `from`, which is x or as large, repeated in its block.
  Value repeat(Emit &e, Value from) const {
    return e.generate(e.shape(to),
                      [&](Scalar s, llvm::ArrayRef<Value> position) {
                        Values at(position);
                        for (auto [i, factor] : llvm::zip_equal(at, factors))
                          if (factor > 1)
                            i = s.divTrunc(i, factor);
                        return s.load(from, at);
                      });
  }
  /// [..., H, W] as [..., h, H / h, w, W / w]; `inner` are the blocks' dims.
  Value split(Emit &e, Shape &inner) const {
    Shape sizes;
    for (auto [size, factor] : llvm::zip_equal(to.sizes, factors)) {
      sizes.push_back(size);
      if (factor == 1)
        continue;
      inner.push_back(int64_t(sizes.size()));
      sizes.push_back(factor);
    }
    return e.reshape(x, sizes);
  }
};
} // namespace

static Value nearest(Emit &e, const OpCall &op) {
  auto resize = Resize::enlarging(op, "self");
  return e.narrow(resize.repeat(e, resize.x), op.result());
}

static Value nearestBackward(Emit &e, const OpCall &op) {
  Shape inner;
  Value blocks = Resize::shrinking(op, "grad_output").split(e, inner);
  return e.narrow(e.reduceSum(blocks, inner, /*keepdim=*/false), op.result());
}

static Value blockMean(Emit &e, const OpCall &op) {
  Shape inner;
  Value blocks = Resize::shrinking(op, "self").split(e, inner);
  return e.narrow(e.reduceMean(blocks, inner, /*keepdim=*/false), op.result());
}

static Value blockMeanBackward(Emit &e, const OpCall &op) {
  auto resize = Resize::enlarging(op, "grad_output");
  int64_t block = 1;
  for (int64_t factor : resize.factors)
    block *= factor;
  return e.narrow(resize.repeat(e, e.div(e.widen(resize.x), block)),
                  op.result());
}

/// A scale that was given replaces the ratio of the sizes: it must be the same.
static bool hasPlainScales(const OpCall &op, Dims factors) {
  int64_t dim = kLeading;
  for (const OpCall::Argument &argument : op.arguments) {
    if (!llvm::StringRef(argument.name).starts_with("scales"))
      continue;
    if (argument.value.isLiteral() &&
        argument.value.asReal() != double(factors[dim]))
      return false;
    ++dim;
  }
  return true;
}

static bool enlarges(const OpCall &op) {
  auto resize = Resize::enlarging(op, "self");
  return resize.isEven() && hasPlainScales(op, resize.factors);
}

static bool shrinksBack(const OpCall &op) {
  auto resize = Resize::shrinking(op, "grad_output");
  return resize.isEven() && hasPlainScales(op, resize.factors);
}

void addResizeOps(OpTable &t) {
  t.structured({"aten::upsample_nearest1d", "aten::upsample_nearest2d",
                "aten::upsample_nearest3d"},
               nearest)
      .when(enlarges)
      .anySize();
  t.structured({"aten::upsample_nearest1d_backward",
                "aten::upsample_nearest2d_backward",
                "aten::upsample_nearest3d_backward"},
               nearestBackward)
      .when(shrinksBack)
      .anySize();
  t.structured("aten::_adaptive_avg_pool2d", blockMean)
      .when([](const OpCall &op) {
        return Resize::shrinking(op, "self").isEven();
      })
      .anySize();
  t.structured("aten::_adaptive_avg_pool2d_backward", blockMeanBackward)
      .when([](const OpCall &op) {
        return Resize::enlarging(op, "grad_output").isEven();
      })
      .anySize();
}

} // namespace ltc::compiler
