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

using TensorType = mlir::RankedTensorType;

constexpr int64_t kLeading = 2; // batch and channels come first

/// Each element of x repeated in a block; spatial dimensions are the last.
static Value repeatBlocks(Emit &e, Value x, ResultType to) {
  Value y = e.generate(e.shape(to), [&](Scalar s, llvm::ArrayRef<Value> at) {
    Values from(at);
    for (int64_t dim = 0; dim < x.rank(); ++dim)
      if (int64_t factor = to.type.getDimSize(dim) / x.size(dim); factor > 1)
        from[dim] = s.divTrunc(at[dim], factor);
    return s.load(x, from);
  });
  return y;
}

/// [..., H, W] as [..., h, H / h, w, W / w]; `inner` are the blocks' dims.
static Value splitBlocks(Emit &e, Value x, TensorType to,
                         llvm::SmallVectorImpl<int64_t> &inner) {
  llvm::SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < x.rank(); ++dim) {
    sizes.push_back(to.getDimSize(dim));
    if (x.size(dim) == to.getDimSize(dim))
      continue;
    inner.push_back(sizes.size());
    sizes.push_back(x.size(dim) / to.getDimSize(dim));
  }
  return e.reshape(x, sizes);
}

static Value nearest(Emit &e, const OpCall &op) {
  return e.narrow(repeatBlocks(e, op["self"], op.result()), op.result());
}

static Value nearestBackward(Emit &e, const OpCall &op) {
  llvm::SmallVector<int64_t> inner;
  Value blocks = splitBlocks(e, op["grad_output"], op.result().type, inner);
  return e.narrow(e.reduceSum(blocks, inner, /*keepdim=*/false), op.result());
}

static Value blockMean(Emit &e, const OpCall &op) {
  llvm::SmallVector<int64_t> inner;
  Value blocks = splitBlocks(e, op["self"], op.result().type, inner);
  return e.narrow(e.reduceMean(blocks, inner, /*keepdim=*/false), op.result());
}

static Value blockMeanBackward(Emit &e, const OpCall &op) {
  Value grad = op["grad_output"];
  int64_t block =
      op.result().type.getNumElements() / grad.tensorType().getNumElements();
  Value share = e.div(e.widen(grad), block);
  return e.narrow(repeatBlocks(e, share, op.result()), op.result());
}

/// Every dimension of `large` is a multiple of that of `small`.
static bool areBlocks(TensorType large, TensorType small) {
  if (!large.hasStaticShape() || !small.hasStaticShape() ||
      !large.getNumElements() || !small.getNumElements())
    return false;
  for (auto [l, s] : llvm::zip_equal(large.getShape(), small.getShape()))
    if (l % s)
      return false;
  return true;
}

/// A scale that was given replaces the ratio of the sizes: it must be the same.
static bool hasPlainScales(const OpCall &op, TensorType large,
                           TensorType small) {
  int64_t dim = kLeading;
  for (const OpCall::Argument &argument : op.arguments) {
    if (!llvm::StringRef(argument.name).starts_with("scales"))
      continue;
    if (argument.value.isLiteral() &&
        argument.value.asReal() !=
            double(large.getDimSize(dim) / small.getDimSize(dim)))
      return false;
    ++dim;
  }
  return true;
}

static bool enlarges(const OpCall &op) {
  TensorType from = op["self"].tensorType(), to = op.result().type;
  return areBlocks(to, from) && hasPlainScales(op, to, from);
}

static bool shrinksBack(const OpCall &op) {
  TensorType from = op["grad_output"].tensorType(), to = op.result().type;
  return areBlocks(from, to) && hasPlainScales(op, from, to);
}

void addResizeOps(OpTable &t) {
  t.structured({"aten::upsample_nearest1d", "aten::upsample_nearest2d",
                "aten::upsample_nearest3d"},
               nearest)
      .when(enlarges);
  t.structured({"aten::upsample_nearest1d_backward",
                "aten::upsample_nearest2d_backward",
                "aten::upsample_nearest3d_backward"},
               nearestBackward)
      .when(shrinksBack);
  t.structured("aten::_adaptive_avg_pool2d", blockMean)
      .when([](const OpCall &op) {
        return areBlocks(op["self"].tensorType(), op.result().type);
      });
  t.structured("aten::_adaptive_avg_pool2d_backward", blockMeanBackward)
      .when([](const OpCall &op) {
        return areBlocks(op.result().type, op["grad_output"].tensorType());
      });
}

} // namespace ltc::compiler
