//===- reshape.cpp - Views, as copies that fuse away ------------*- C++ -*-===//
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

/// The end of a slice of `length` from `start`: an end behind the last element
/// stands for that, which of symbolic sizes only the length tells.
static int64_t endOf(Emit &e, const OpCall &op, int64_t size, int64_t length) {
  int64_t start = op.integer("start"), end = op.integer("end", kEnd);
  bool counts = isSymbolic(start) || start >= 0;
  return counts && isSymbolic(size) && e.sum({start, length}) == size ? kEnd
                                                                      : end;
}

static Value slice(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t dim = op.dim("dim"), start = op.integer("start");
  int64_t length = op.result().sizes[dim], step = op.integer("step", 1);
  int64_t end = endOf(e, op, x.size(dim), length);
  // Of symbolic sizes, what was recorded tells where it ends.
  if (step == 1 && isSymbolic(length) && (isSymbolic(start) || start >= 0))
    end = e.sum({start, length});
  return e.slice(x, dim, start, end, step);
}

static Value sliceScatter(Emit &e, const OpCall &op) {
  Value x = op["self"], src = op["src"];
  int64_t dim = op.dim("dim"), start = op.integer("start");
  int64_t end = endOf(e, op, x.size(dim), src.rank() ? src.size(dim) : 1);
  int64_t step = op.integer("step", 1);
  Shape part = e.shape(e.slice(x, dim, start, end, step));
  return e.insertSlice(x, e.expand(src, part), dim, start, end, step);
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
  Value grad = op["grad_output"];
  int64_t dim = resultDim(op);
  int64_t end = endOf(e, op, op.result().sizes[dim], grad.size(dim));
  return e.insertSlice(zeros(e, op), grad, dim, op.integer("start"), end,
                       op.integer("step", 1));
}

/// The index of a select in a dimension of that size, counted from 0.
static int64_t selected(Emit &e, const OpCall &op, int64_t size) {
  int64_t index = op.integer("index");
  return index < 0 && !isSymbolic(index) ? e.sum({index, size}) : index;
}

static bool hasStaticDim(const OpCall &op) {
  return op["self"].tensorType().hasStaticShape();
}

static Value select(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t dim = op.dim("dim"), index = selected(e, op, x.size(dim));
  return e.squeeze(e.slice(x, dim, index, e.sum({index, 1})), {dim});
}

static Value selectScatter(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t dim = op.dim("dim"), index = selected(e, op, x.size(dim));
  return e.insertSlice(x, e.unsqueeze(op["src"], {dim}), dim, index,
                       e.sum({index, 1}));
}

static Value selectBackward(Emit &e, const OpCall &op) {
  int64_t dim = resultDim(op);
  int64_t index = selected(e, op, op.result().sizes[dim]);
  return e.insertSlice(zeros(e, op), e.unsqueeze(op["grad_output"], {dim}), dim,
                       index, e.sum({index, 1}));
}

/// Consecutive pieces along a dimension, as long as the results are.
static Values split(Emit &e, const OpCall &op) {
  int64_t dim = op.dim("dim"), start = 0;
  Values parts;
  for (const ResultType &part : op.results) {
    int64_t end = e.sum({start, part.sizes[dim]});
    parts.push_back(e.slice(op["self"], dim, start, end));
    start = end;
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

namespace {
/// The diagonal of two dimensions, which stands last in the op's other tensor.
struct Diagonal {
  int64_t offset, dim1, dim2;
  Diagonal(const OpCall &op, int64_t rank, int64_t first, int64_t second)
      : offset(op.integer("offset")), dim1(op.integer("dim1", first)),
        dim2(op.integer("dim2", second)) {
    dim1 += dim1 < 0 ? rank : 0;
    dim2 += dim2 < 0 ? rank : 0;
  }
  /// Where the diagonal's element `at` lies.
  Values inMatrix(Scalar s, llvm::ArrayRef<Value> at, int64_t rank) const {
    Values from;
    for (int64_t dim = 0, next = 0; dim < rank; ++dim)
      if (dim == dim1)
        from.push_back(s.add(at.back(), std::max<int64_t>(-offset, 0)));
      else if (dim == dim2)
        from.push_back(s.add(at.back(), std::max<int64_t>(offset, 0)));
      else
        from.push_back(at[next++]);
    return from;
  }
  /// All dimensions, those of the diagonal last.
  Shape order(int64_t rank) const {
    Shape dims;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != dim1 && dim != dim2)
        dims.push_back(dim);
    dims.append({dim1, dim2});
    return dims;
  }
};
} // namespace

static Value diagonal(Emit &e, const OpCall &op) {
  Value x = op["self"];
  Diagonal d(op, x.rank(), 0, 1);
  Value y =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        return s.load(x, d.inMatrix(s, at, x.rank()));
      });
  return e.narrow(y, op.result());
}

/// `diagonal` put into `around`: in the elements of a matrix, one behind the
/// other, those of a diagonal are a row and a column apart.
static Value withDiagonal(Emit &e, const Diagonal &d, Value diagonal,
                          Value around) {
  int64_t rank = around.rank();
  Shape order = d.order(rank), back(rank);
  for (auto [place, dim] : llvm::enumerate(order))
    back[dim] = int64_t(place);
  Value matrices = e.permute(around, order);
  Shape shape = e.shape(matrices), flat(llvm::ArrayRef(shape).drop_back());
  int64_t columns = shape.back(), step = columns + 1;
  flat.back() *= columns;
  int64_t first = std::max<int64_t>(-d.offset, 0) * columns +
                  std::max<int64_t>(d.offset, 0);
  int64_t last = first + (e.shape(diagonal).back() - 1) * step;
  Value y = e.insertSlice(e.reshape(matrices, flat), diagonal, rank - 2, first,
                          last + 1, step);
  return e.permute(e.reshape(y, shape), back);
}

static Value diagonalEmbed(Emit &e, const OpCall &op) {
  Diagonal d(op, op.result().type.getRank(), -2, -1);
  return withDiagonal(e, d, op["self"], zeros(e, op));
}

static Value diagonalBackward(Emit &e, const OpCall &op) {
  Diagonal d(op, op.result().type.getRank(), 0, 1);
  return withDiagonal(e, d, op["grad_output"], zeros(e, op));
}

static Value diagonalScatter(Emit &e, const OpCall &op) {
  Diagonal d(op, op.result().type.getRank(), 0, 1);
  return withDiagonal(e, d, op["src"], op["self"]);
}

/// Windows along a dimension, each in a new last dimension.
static Value unfold(Emit &e, const OpCall &op) {
  Value x = op["self"];
  int64_t dim = op.dim("dimension"), step = op.integer("step");
  Value y =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values from(at.drop_back());
        from[dim] = s.add(s.mul(at[dim], step), at.back());
        return s.load(x, from);
      });
  return e.narrow(y, op.result());
}

/// Each dimension is two, the first of which goes over repetitions.
static Value repeat(Emit &e, const OpCall &op) {
  Value x = op["self"];
  auto repeats = op.integers("repeats");
  size_t added = repeats.size() - size_t(x.rank());
  Shape repeated, units;
  for (auto [dim, count] : llvm::enumerate(repeats)) {
    units.push_back(int64_t(repeated.size()));
    repeated.push_back(count);
    if (dim >= added)
      repeated.push_back(x.size(int64_t(dim - added)));
  }
  Value y = e.expand(e.unsqueeze(x, units), repeated);
  return e.reshape(y, op.result());
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
/// dims the tensor is rolled as if it were flat. The last dimension is made of
/// two parts, so that rows are read and written side by side.
static Value roll(Emit &e, const OpCall &op) {
  auto shifts = op.integers("shifts"), dims = op.integers("dims");
  Value x = dims.empty() ? e.flatten(op["self"]) : op["self"];
  if (dims.empty())
    dims.push_back(0);
  Shape shape = e.shape(x), shiftOf(x.rank());
  for (auto [dim, shift] : llvm::zip_equal(dims, shifts))
    shiftOf[dim < 0 ? dim + x.rank() : dim] += shift;
  for (auto [shift, size] : llvm::zip_equal(shiftOf, shape))
    if (!isSymbolic(size))
      shift = (shift % size + size) % size;
  /// `count` elements of each row, from `first` on.
  auto part = [&](int64_t first, int64_t count) {
    Shape some = shape;
    some.back() = count;
    Value y = e.generate(some, [&](Scalar s, llvm::ArrayRef<Value> at) {
      Values from(at);
      for (int64_t dim = 0; dim + 1 < x.rank(); ++dim) {
        if (!shiftOf[dim])
          continue;
        Value i = s.sub(at[dim], shiftOf[dim]);
        from[dim] = s.select(s.lt(i, 0), s.add(i, shape[dim]), i);
      }
      from.back() = s.add(at.back(), first);
      return s.load(x, from);
    });
    return e.narrow(y, op.result());
  };
  if (x.rank() == 0)
    return x;
  int64_t shift = shiftOf.back(), rest = shape.back() - shift;
  Value y = shift ? e.concat({part(rest, shift), part(0, rest)}, x.rank() - 1)
                  : part(0, rest);
  return e.reshape(y, op.result());
}

static bool hasElements(const OpCall &op) { return !op["self"].isEmpty(); }

/// Whether it is known where what roll() makes is cut.
static bool rollsStaticDims(const OpCall &op) {
  Value x = op["self"];
  auto dims = op.integers("dims");
  return hasElements(op) && !op.hasSymbolicArgument() &&
         (!dims.empty() || !op.hasSymbolicSize()) &&
         llvm::none_of(dims, [&](int64_t dim) {
           return isSymbolic(x.size(dim < 0 ? dim + x.rank() : dim));
         });
}

static void addSlices(OpTable &t) {
  t.structured({"aten::slice.Tensor", "aten::slice_copy.Tensor"}, slice)
      .anySize()
      .anyDType();
  t.structured("aten::slice_scatter", sliceScatter).anySize();
  t.structured("aten::slice_backward", sliceBackward).anySize();
  t.structured({"aten::select.int", "aten::select_copy.int"}, select)
      .anySize()
      .anyDType();
  t.structured("aten::select_scatter", selectScatter).anySize();
  t.structured("aten::select_backward", selectBackward).anySize();
  t.structured({"aten::split.Tensor", "aten::split_copy.Tensor",
                "aten::split_with_sizes", "aten::split_with_sizes_copy",
                "aten::unsafe_split.Tensor", "aten::unsafe_split_with_sizes"},
               split)
      .anySize()
      .anyDType();
  t.structured({"aten::unbind.int", "aten::unbind_copy.int"}, unbind)
      .anySize()
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
      .anySize()
      .anyDType();
  t.structured({"torch_ltc::shard"}, reshape).anySize().anyDType();
  t.structured({"aten::transpose.int", "aten::transpose_copy.int"}, transpose)
      .anySize()
      .anyDType();
  t.structured({"aten::t", "aten::t_copy"}, matrixTranspose)
      .anySize()
      .anyDType();
  t.structured({"aten::permute", "aten::permute_copy"}, permute)
      .anySize()
      .anyDType();
  t.structured({"aten::expand", "aten::expand_copy"}, expand)
      .anySize()
      .anyDType();
  t.structured({"aten::diagonal", "aten::diagonal_copy"}, diagonal)
      .when(hasStaticDim);
  t.structured("aten::diag_embed", diagonalEmbed).when(hasElements);
  t.structured("aten::diagonal_backward", diagonalBackward)
      .when([](const OpCall &op) {
        return op["grad_output"].tensorType().getNumElements() > 0;
      });
  t.structured("aten::diagonal_scatter", diagonalScatter)
      .when([](const OpCall &op) {
        return hasElements(op) && op["src"].tensorType().getNumElements() > 0;
      });
  t.structured({"aten::unfold", "aten::unfold_copy"}, unfold)
      .when([](const OpCall &op) {
        return hasElements(op) && op["self"].rank() > 0;
      })
      .anySize();
  t.structured("aten::repeat", repeat).when(hasElements).anySize();
  t.structured("aten::flip", flip).anySize();
  t.structured("aten::roll", roll).when(rollsStaticDims).anySize();
  addSlices(t);
}

} // namespace ltc::compiler
