//===- join.cpp - cat, stack, pad, pixel shuffles ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

static Value cat(Emit &e, const OpCall &op) {
  Values parts;
  for (Value part : op.list("tensors")) {
    // PyTorch skips empty one-dimensional tensors, whatever the others are.
    if (part.rank() == 1 && part.size(0) == 0 &&
        op.result().type.getRank() != 1)
      continue;
    parts.push_back(e.cast(part, op.result().dtype));
  }
  if (parts.size() == 1)
    return parts.front();
  return e.concat(parts, op.dim("dim", 0, parts.front()));
}

static Value stack(Emit &e, const OpCall &op) {
  int64_t dim = op.integer("dim");
  dim += dim < 0 ? op.result().type.getRank() : 0;
  Values parts;
  for (Value part : op.list("tensors"))
    parts.push_back(e.unsqueeze(e.cast(part, op.result().dtype), {dim}));
  return parts.size() == 1 ? parts.front() : e.concat(parts, dim);
}

/// By formulas, of which the result's sizes need not be the sums.
static Value openPad(Emit &e, const OpCall &op) {
  Value x = op["self"];
  auto pad = op.integers("pad");
  return e.generate(
      e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values source(at);
        Value isInside = true;
        for (size_t pair = 0; pair < pad.size() / 2; ++pair) {
          int64_t dim = x.rank() - 1 - int64_t(pair);
          Value from = s.sub(at[dim], s.size(pad[2 * pair]));
          source[dim] = s.min(s.max(from, 0), s.sub(s.size(x, dim), 1));
          isInside = s.logicalAnd(isInside, s.eq(from, source[dim]));
        }
        Value element = s.load(x, source);
        return s.cast(s.select(isInside, element, op["value"]), x.dtype());
      });
}

static Value constantPad(Emit &e, const OpCall &op) {
  Value x = op["self"];
  if (op.hasSymbolicArgument())
    return openPad(e, op);
  llvm::SmallVector<int64_t> low(x.rank()), high(x.rank());
  auto pad = op.integers("pad"); // pairs, from the last dimension on
  for (size_t pair = 0; pair < pad.size() / 2; ++pair) {
    low[x.rank() - 1 - pair] = pad[2 * pair];
    high[x.rank() - 1 - pair] = pad[2 * pair + 1];
  }
  return e.pad(x, low, high, op["value"]);
}

/// Padding that reads x again: `from(position - low, size)` names the source.
template <typename F>
static Value paddedFrom(Emit &e, const OpCall &op, F from) {
  Value x = op["self"];
  auto pad = op.integers("padding");
  Value y =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values source(at);
        for (size_t pair = 0; pair < pad.size() / 2; ++pair) {
          int64_t dim = x.rank() - 1 - int64_t(pair);
          source[dim] =
              from(s, s.sub(at[dim], s.size(pad[2 * pair])), s.size(x, dim));
        }
        return s.load(x, source);
      });
  return e.narrow(y, op.result());
}

/// Mirrored at the first and the last element, which are not repeated.
static Value reflectionPad(Emit &e, const OpCall &op) {
  return paddedFrom(e, op, [](Scalar s, Value i, Value size) {
    Value last = s.sub(size, 1);
    return s.sub(last, s.abs(s.sub(last, s.abs(i))));
  });
}

static Value replicationPad(Emit &e, const OpCall &op) {
  return paddedFrom(e, op, [](Scalar s, Value i, Value size) {
    return s.min(s.max(i, 0), s.sub(size, 1));
  });
}

/// How many there are of the two last dimensions.
static int64_t planes(Emit &e, Dims sizes) {
  return e.product(sizes.drop_back(2));
}

/// [..., C r r, H, W] to [..., C, H r, W r]
static Value pixelShuffle(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t r = op.integer("upscale_factor");
  int64_t h = x.size(x.rank() - 2), w = x.size(x.rank() - 1);
  Value blocks = e.reshape(x, {planes(e, op.result().sizes), r, r, h, w});
  return e.reshape(e.permute(blocks, {0, 3, 1, 4, 2}), op.result());
}

static Value pixelUnshuffle(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t r = op.integer("downscale_factor");
  auto to = Dims(op.result().sizes).take_back(2);
  Value blocks = e.reshape(x, {planes(e, e.shape(x)), to[0], r, to[1], r});
  return e.reshape(e.permute(blocks, {0, 2, 4, 1, 3}), op.result());
}

/// Channels in groups, the first of each group first.
static Value channelShuffle(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t channels = x.size(1), groups = op.integer("groups");
  int64_t positions = e.product(Dims(e.shape(x)).drop_front(2));
  Value grouped =
      e.reshape(x, {x.size(0), groups, channels / groups, positions});
  return e.reshape(e.transpose(grouped, 1, 2), op.result());
}

static bool readsElements(const OpCall &op) { return !op["self"].isEmpty(); }

static bool hasElements(const OpCall &op) {
  return readsElements(op) && !op.hasSymbolicArgument();
}

void addJoinOps(OpTable &t) {
  t.structured("aten::cat", cat).anySize();
  t.structured({"aten::stack", "aten::_stack"}, stack).anySize();
  t.structured("aten::constant_pad_nd", constantPad).anySize();
  t.structured({"aten::reflection_pad1d", "aten::reflection_pad2d",
                "aten::reflection_pad3d"},
               reflectionPad)
      .when(readsElements)
      .anySize();
  t.structured({"aten::replication_pad1d", "aten::replication_pad2d",
                "aten::replication_pad3d"},
               replicationPad)
      .when(readsElements)
      .anySize();
  t.structured("aten::pixel_shuffle", pixelShuffle).when(hasElements).anySize();
  t.structured("aten::pixel_unshuffle", pixelUnshuffle)
      .when(hasElements)
      .anySize();
  t.structured({"aten::channel_shuffle", "aten::native_channel_shuffle"},
               channelShuffle)
      .when([](const OpCall &op) {
        return hasElements(op) && !isSymbolic(op["self"].size(1));
      })
      .anySize();
}

} // namespace ltc::compiler
