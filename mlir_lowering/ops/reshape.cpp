//===- reshape.cpp - Views, as copies that fuse away -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <limits>

namespace ltc::compiler {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

/// Any view that keeps the row-major order: the result's shape says it all.
static Value reshape(Emit &e, const OpCall &op) {
  return e.reshape(op["self"], op.result());
}

static Value transpose(Emit &e, const OpCall &op) {
  return e.transpose(op["self"], op.dim("dim0"), op.dim("dim1"));
}

/// t(): the two dimensions of a matrix; of a vector, nothing.
static Value matrixTranspose(Emit &e, const OpCall &op) {
  Value x = op["self"];
  return x.rank() < 2 ? x : e.transpose(x, 0, 1);
}

static Value permute(Emit &e, const OpCall &op) {
  Value x = op["self"];
  auto order = op.integers("dims");
  for (int64_t &dim : order)
    dim += dim < 0 ? x.rank() : 0;
  return e.permute(x, order);
}

static Value expand(Emit &e, const OpCall &op) {
  return e.expand(op["self"], e.shape(op.result()));
}

static Value slice(Emit &e, const OpCall &op) {
  return e.slice(op["self"], op.dim("dim"), op.integer("start"),
                 op.integer("end", kEnd), op.integer("step", 1));
}

static Value sliceScatter(Emit &e, const OpCall &op) {
  return e.insertSlice(
      op["self"],
      e.expand(op["src"], e.shape(e.slice(
                              op["self"], op.dim("dim"), op.integer("start"),
                              op.integer("end", kEnd), op.integer("step", 1)))),
      op.dim("dim"), op.integer("start"), op.integer("end", kEnd),
      op.integer("step", 1));
}

/// A zero tensor of the recorded type.
static Value zeros(Emit &e, const OpCall &op) {
  return e.full(e.shape(op.result()), op.result().dtype, 0);
}

/// The dimension of a backward op, counted in the tensor it gives.
static int64_t resultDim(const OpCall &op) {
  int64_t dim = op.integer("dim");
  return dim < 0 ? dim + op.result().type.getRank() : dim;
}

static Value sliceBackward(Emit &e, const OpCall &op) {
  return e.insertSlice(zeros(e, op), op["grad_output"], resultDim(op),
                       op.integer("start"), op.integer("end", kEnd),
                       op.integer("step", 1));
}

/// The index of a select in a dimension of that size, counted from 0.
static int64_t selected(const OpCall &op, int64_t size) {
  int64_t index = op.integer("index");
  return index < 0 ? index + size : index;
}

static bool hasStaticDim(const OpCall &op) {
  return op["self"].tensorType().hasStaticShape();
}

static Value select(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t dim = op.dim("dim"), index = selected(op, x.size(dim));
  return e.squeeze(e.slice(x, dim, index, index + 1), {dim});
}

static Value selectScatter(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t dim = op.dim("dim"), index = selected(op, x.size(dim));
  return e.insertSlice(x, e.unsqueeze(op["src"], {dim}), dim, index, index + 1);
}

static Value selectBackward(Emit &e, const OpCall &op) {
  int64_t dim = resultDim(op);
  int64_t index = selected(op, op.result().type.getDimSize(dim));
  return e.insertSlice(zeros(e, op), e.unsqueeze(op["grad_output"], {dim}), dim,
                       index, index + 1);
}

/// Consecutive pieces along a dimension, as long as the results are.
static Values split(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim"), start = 0;
  Values parts;
  for (const ResultType &part : op.results) {
    int64_t size = part.type.getDimSize(dim);
    parts.push_back(e.slice(op["self"], dim, start, start + size));
    start += size;
  }
  return parts;
}

static Values unbind(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim");
  Values parts;
  for (size_t i = 0; i < op.resultCount(); ++i)
    parts.push_back(
        e.squeeze(e.slice(op["self"], dim, int64_t(i), int64_t(i) + 1), {dim}));
  return parts;
}

static Value diagonal(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t offset = op.integer("offset");
  int64_t dim1 = op.dim("dim1", 0), dim2 = op.dim("dim2", 1);
  Value y =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Value along = at.back();
        Values from;
        size_t next = 0;
        for (int64_t dim = 0; dim < x.rank(); ++dim)
          if (dim == dim1)
            from.push_back(s.add(along, std::max<int64_t>(-offset, 0)));
          else if (dim == dim2)
            from.push_back(s.add(along, std::max<int64_t>(offset, 0)));
          else
            from.push_back(at[next++]);
        return s.load(x, from);
      });
  return e.narrow(y, op.result());
}

static Value repeat(Emit &e, const OpCall &op) {
  Value x = op["self"];
  Value y =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values from;
        for (auto [dim, index] : llvm::enumerate(at.take_back(x.rank())))
          from.push_back(s.remainder(index, s.size(x, dim)));
        return s.load(x, from);
      });
  return e.narrow(y, op.result());
}

static Value flip(Emit &e, const OpCall &op) {
  Value x = op["self"];
  llvm::SmallVector<bool> flips(x.rank());
  for (int64_t dim : op.integers("dims"))
    flips[dim < 0 ? dim + x.rank() : dim] = true;
  Value y = e.generate(e.shape(x), [&](Scalar s, llvm::ArrayRef<Value> at) {
    Values from(at);
    for (int64_t dim = 0; dim < x.rank(); ++dim)
      if (flips[dim])
        from[dim] = s.sub(s.sub(s.size(x, dim), 1), at[dim]);
    return s.load(x, from);
  });
  return e.narrow(y, op.result());
}

/// x[i] comes from x[(i - shift) mod size], one dimension at a time; without
/// dims the tensor is rolled as if it were flat.
static Value roll(Emit &e, const OpCall &op) {
  auto shifts = op.integers("shifts"), dims = op.integers("dims");
  Value x = dims.empty() ? e.flatten(op["self"]) : op["self"];
  if (dims.empty())
    dims.push_back(0);
  llvm::SmallVector<int64_t> shiftOf(x.rank());
  for (auto [dim, shift] : llvm::zip_equal(dims, shifts))
    shiftOf[dim < 0 ? dim + x.rank() : dim] += shift;
  Value y = e.generate(e.shape(x), [&](Scalar s, llvm::ArrayRef<Value> at) {
    Values from(at);
    for (int64_t dim = 0; dim < x.rank(); ++dim)
      if (shiftOf[dim])
        from[dim] = s.remainder(s.sub(at[dim], shiftOf[dim]), s.size(x, dim));
    return s.load(x, from);
  });
  return e.reshape(e.narrow(y, op.result()), op.result());
}

static bool hasElements(const OpCall &op) {
  return hasStaticDim(op) && op["self"].tensorType().getNumElements() > 0;
}

static void addSlices(OpTable &t) {
  t.structured({"aten::slice.Tensor", "aten::slice_copy.Tensor"}, slice)
      .anyDType();
  t.structured("aten::slice_scatter", sliceScatter);
  t.structured("aten::slice_backward", sliceBackward);
  t.structured({"aten::select.int", "aten::select_copy.int"}, select)
      .when(hasStaticDim)
      .anyDType();
  t.structured("aten::select_scatter", selectScatter).when(hasStaticDim);
  t.structured("aten::select_backward", selectBackward);
  t.structured({"aten::split.Tensor", "aten::split_copy.Tensor",
                "aten::split_with_sizes", "aten::split_with_sizes_copy",
                "aten::unsafe_split.Tensor", "aten::unsafe_split_with_sizes"},
               split)
      .when(hasStaticDim)
      .anyDType();
  t.structured({"aten::unbind.int", "aten::unbind_copy.int"}, unbind)
      .when(hasStaticDim)
      .anyDType();
}

void addReshapeOps(OpTable &t) {
  t.structured({"aten::view", "aten::view_copy", "aten::_unsafe_view",
                "aten::reshape", "aten::_reshape_copy", "aten::_reshape_alias",
                "aten::_reshape_alias_copy", "aten::unsqueeze",
                "aten::unsqueeze_copy", "aten::squeeze", "aten::squeeze_copy",
                "aten::squeeze.dim", "aten::squeeze_copy.dim",
                "aten::squeeze.dims", "aten::squeeze_copy.dims", "aten::alias",
                "aten::alias_copy", "aten::detach", "aten::detach_copy"},
               reshape)
      .anyDType();
  t.structured({"aten::transpose.int", "aten::transpose_copy.int"}, transpose)
      .anyDType();
  t.structured({"aten::t", "aten::t_copy"}, matrixTranspose).anyDType();
  t.structured({"aten::permute", "aten::permute_copy"}, permute).anyDType();
  t.structured({"aten::expand", "aten::expand_copy"}, expand).anyDType();
  t.structured({"aten::diagonal", "aten::diagonal_copy"}, diagonal)
      .when(hasStaticDim);
  t.structured("aten::repeat", repeat).when(hasElements);
  t.structured("aten::flip", flip);
  t.structured("aten::roll", roll).when(hasElements);
  addSlices(t);
}

} // namespace ltc::compiler
