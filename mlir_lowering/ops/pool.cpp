//===- pool.cpp - Pooling and its gradients ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Windows are unrolled: each output reads the elements of its window, and each
// element's gradient looks at the windows it lies in. Nothing is scattered, so
// the loops are parallel and the sums have one order. Only the gradient of a
// maximum is a library call: it reaches one element a window, so that to
// scatter is up to ten times as fast.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

#include <limits>

namespace ltc::compiler {

static Value inRange(Scalar s, Value i, int64_t size) {
  return s.logicalAnd(s.ge(i, 0), s.lt(i, s.size(size)));
}

/// i, or the position next to it of so many. It does not ask about the other
/// dimension: rows are read side by side wherever one position is in range.
static Value within(Scalar s, Value i, int64_t size) {
  return s.min(s.max(i, 0), s.sub(s.size(size), 1));
}

namespace {
/// One spatial dimension of a pooling window. Its sizes may be symbolic.
struct Axis {
  int64_t size, outputs, kernel, stride, padding, dilation;
  bool ceils; ///< whether a last window may reach beyond the elements

  /// Where tap `tap` of output `o` reads.
  Value tap(Scalar s, Value o, int64_t tap) const {
    return s.add(s.mul(o, stride), tap * dilation - padding);
  }
  /// Whether no window reaches beyond the elements.
  bool fits() const {
    if (padding != 0)
      return false;
    if (isSymbolic(size) || isSymbolic(outputs))
      return !ceils;
    return (outputs - 1) * stride + (kernel - 1) * dilation < size;
  }
  /// Whether element i is one, where it is tap of a window.
  Value holds(Scalar s, Value i) const {
    return fits() ? s.number(true, DType::Bool) : inRange(s, i, size);
  }
  /// Element i, or one that is there.
  Value nearest(Scalar s, Value i) const {
    return fits() ? i : within(s, i, size);
  }
  /// How many windows an element may lie in.
  int64_t windows() const { return (kernel + stride - 1) / stride; }
  /// The n-th window from the last that may hold element i.
  Value window(Scalar s, Value i, int64_t n) const {
    return s.sub(s.divFloor(s.add(i, padding), stride), n);
  }
};

/// A 2-d window over the two last dimensions.
struct Window {
  Axis h, w;
  Window(const OpCall &op, Dims in, Dims out)
      : h(axis(op, in, out, 0)), w(axis(op, in, out, 1)) {}
  int64_t taps() const { return h.kernel * w.kernel; }

private:
  static int64_t pick(llvm::ArrayRef<int64_t> values, int i,
                      int64_t otherwise) {
    if (values.empty())
      return otherwise;
    return values.size() == 1 ? values[0] : values[i];
  }
  static Axis axis(const OpCall &op, Dims in, Dims out, int i) {
    int64_t kernel = pick(op.integers("kernel_size"), i, 1);
    return {in.take_back(2)[i],
            out.take_back(2)[i],
            kernel,
            pick(op.integers("stride"), i, kernel),
            pick(op.integers("padding"), i, 0),
            pick(op.integers("dilation"), i, 1),
            op.flag("ceil_mode", false)};
  }
};
} // namespace

constexpr int64_t kMaxTaps = 49; // a 7x7 window; above it a library call

static Values withLast(llvm::ArrayRef<Value> at, Value h, Value w) {
  Values position(at.drop_back(2));
  position.push_back(h);
  position.push_back(w);
  return position;
}

static Values indicesOf(Scalar s, int64_t rank) {
  Values at;
  for (int64_t dim = 0; dim < rank; ++dim)
    at.push_back(s.index(dim));
  return at;
}

/// The element at a tap, or another where the tap is beyond the border.
static Value loadTap(Scalar s, const Window &window, Value x,
                     llvm::ArrayRef<Value> at, Value row, Value column) {
  return s.load(
      x, withLast(at, window.h.nearest(s, row), window.w.nearest(s, column)));
}

/// Calls f(row, column, inside) for each tap of the window of output `at`.
template <typename F>
static void forEachTap(Scalar s, const Window &window, llvm::ArrayRef<Value> at,
                       F f) {
  for (int64_t i = 0; i < window.h.kernel; ++i)
    for (int64_t j = 0; j < window.w.kernel; ++j) {
      Value row = window.h.tap(s, at[at.size() - 2], i);
      Value column = window.w.tap(s, at.back(), j);
      f(row, column,
        s.logicalAnd(window.h.holds(s, row), window.w.holds(s, column)));
    }
}

/// Calls f(row, column, valid) for each window that may hold element `at`, in
/// their own order, in which eager adds up.
template <typename F>
static void forEachWindow(Scalar s, const Window &window,
                          llvm::ArrayRef<Value> at, F f) {
  for (int64_t i = window.h.windows(); i-- > 0;)
    for (int64_t j = window.w.windows(); j-- > 0;) {
      Value row = window.h.window(s, at[at.size() - 2], i);
      Value column = window.w.window(s, at.back(), j);
      f(row, column,
        s.logicalAnd(inRange(s, row, window.h.outputs),
                     inRange(s, column, window.w.outputs)));
    }
}

static Values maxPool(Emit &e, const OpCall &op) {
  // A vector of 16-bit elements that lie apart is loaded one by one.
  Value x = e.widen(op["self"]);
  Window window(op, x.sizes(), op.result().sizes);
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  Values best = e.mapMany(
      e.shape(op.result()), {}, [&](Scalar s, llvm::ArrayRef<Value>) -> Values {
        Values at = indicesOf(s, x.rank());
        Value value = s.number(lowest, x.dtype());
        Value index = s.number(-1, DType::I64);
        Value seen = s.number(false, DType::Bool);
        forEachTap(s, window, at, [&](Value row, Value column, Value inside) {
          Value v =
              s.select(inside, loadTap(s, window, x, at, row, column), lowest);
          Value better = s.logicalOr(s.gt(v, value), s.isNan(v));
          better = s.logicalOr(s.logicalNot(seen), better);
          better = s.logicalAnd(inside, better);
          seen = s.logicalOr(seen, inside);
          value = s.select(better, v, value);
          index = s.select(
              better, s.add(s.mul(row, s.size(window.w.size)), column), index);
        });
        return {value, index};
      });
  return {e.narrow(best[0], op.result(0)), best[1]};
}

namespace {
/// What a window's sum is divided by.
struct Divisor {
  const OpCall &op;
  const Window &window;
  bool countsPadding = op.flag("count_include_pad", true);

  Value extent(Scalar s, const Axis &axis, Value o) const {
    Value start = s.sub(s.mul(o, axis.stride), axis.padding);
    Value size = s.size(axis.size);
    Value end = s.min(s.add(start, axis.kernel), s.add(size, axis.padding));
    if (!countsPadding) {
      start = s.max(start, 0);
      end = s.min(end, size);
    }
    return s.sub(end, start);
  }
  Value at(Scalar s, Value row, Value column) const {
    if (op.has("divisor_override"))
      return op["divisor_override"];
    return s.mul(extent(s, window.h, row), extent(s, window.w, column));
  }
};
} // namespace

static Value averagePool(Emit &e, const OpCall &op) {
  Value x = e.widen(op["self"]); // as for maxPool
  Window window(op, x.sizes(), op.result().sizes);
  Divisor divisor{op, window};
  Value y =
      e.generate(e.shape(op.result()), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Value sum = s.number(0.0, x.dtype());
        forEachTap(s, window, at, [&](Value row, Value column, Value inside) {
          Value v = loadTap(s, window, x, at, row, column);
          sum = s.add(sum, s.select(inside, v, 0.0));
        });
        Value count = divisor.at(s, at[at.size() - 2], at.back());
        return s.div(sum, count.isLiteral() ? count : s.cast(count, x.dtype()));
      });
  return e.narrow(y, op.result());
}

static Value averagePoolBackward(Emit &e, const OpCall &op) {
  Value grad = op["grad_output"];
  Window window(op, op.result().sizes, grad.sizes());
  Divisor divisor{op, window};
  auto holds = [](Scalar s, const Axis &axis, Value o, Value i) {
    Value start = s.sub(s.mul(o, axis.stride), axis.padding);
    return s.lt(i, s.add(start, axis.kernel));
  };
  Value dx = e.generate(e.shape(op.result()), [&](Scalar s,
                                                  llvm::ArrayRef<Value> at) {
    DType dtype = computeDType(grad.dtype());
    Value sum = s.number(0.0, dtype);
    forEachWindow(s, window, at, [&](Value row, Value column, Value valid) {
      valid = s.logicalAnd(
          valid, s.logicalAnd(holds(s, window.h, row, at[at.size() - 2]),
                              holds(s, window.w, column, at.back())));
      Value near = s.load(grad, withLast(at, within(s, row, window.h.outputs),
                                         within(s, column, window.w.outputs)));
      Value g = s.select(valid, near, 0.0);
      Value count = divisor.at(s, row, column);
      // Windows beyond the border may have no elements at all.
      Value share = s.div(g, count.isLiteral() ? count : s.cast(count, dtype));
      share = s.select(valid, s.rounded(share, grad.dtype()), 0.0);
      sum = s.rounded(s.add(sum, share), grad.dtype());
    });
    return sum;
  });
  return e.narrow(dx, op.result());
}

static bool isSmallFloatWindow(const OpCall &op) {
  int64_t taps = 1;
  auto kernel = op.integers("kernel_size");
  for (int64_t size : kernel)
    taps *= size;
  if (kernel.size() == 1)
    taps *= kernel[0];
  Value x = op.has("self") ? op["self"] : op["grad_output"];
  return taps <= kMaxTaps && isFloat(x.dtype()) && !x.isEmpty() &&
         !op.hasSymbolicArgument();
}

void addPoolOps(OpTable &t) {
  t.structured("aten::max_pool2d_with_indices", maxPool)
      .when(isSmallFloatWindow)
      .anySize();
  t.structured("aten::avg_pool2d", averagePool)
      .when(isSmallFloatWindow)
      .anySize();
  t.structured("aten::avg_pool2d_backward", averagePoolBackward)
      .when(isSmallFloatWindow)
      .anySize();
}

} // namespace ltc::compiler
