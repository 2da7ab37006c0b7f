//===- emit.h - The tensor vocabulary ---------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a structured row says. Everything becomes linalg and tensor ops that
// later stages fuse: rows never allocate, loop or think about memory.
//
// Values from arithmetic are wide (f32 for the 16-bit floats) until narrow().
// A size is an int64_t: a number or symbolic, and equal sizes are equal. Where
// rows broadcast, a symbolic size meets only itself or 1: another is refused.
// No loop runs over a dimension of size 1: maps and reductions are made
// without, and reshaped, so that keepdim and batches of one cost and hide
// nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/op_call.h"
#include "mlir_lowering/ops/scalar.h"

namespace ltc::compiler {

using Shape = llvm::SmallVector<int64_t>;
using Dims = llvm::ArrayRef<int64_t>;

class Emit {
public:
  Emit(mlir::ImplicitLocOpBuilder &builder, int64_t site)
      : b(builder), site(site) {}

  // Shapes.
  Shape shape(Value x) { return x.sizes(); }
  Shape shape(ResultType type) { return type.sizes; }
  /// Sums and products of sizes.
  int64_t sum(Dims sizes) { return compiler::sumOf(b.getContext(), sizes); }
  int64_t product(Dims sizes) {
    return compiler::productOf(b.getContext(), sizes);
  }
  /// -size.
  int64_t minus(int64_t size) { return product({-1, size}); }
  /// Right-aligned broadcast of all tensors among `values`.
  Shape broadcastShape(llvm::ArrayRef<Value> values);
  /// Number of elements over `dims`, as a literal.
  Value count(Value x, Dims dims);

  // Dtypes.
  Value cast(Value x, DType dtype);
  /// To the dtype arithmetic is done in.
  Value widen(Value x) { return cast(x, computeDType(x.dtype())); }
  /// What a tensor of that dtype would keep of x, to compute on with.
  Value rounded(Value x, ResultType stored) { return widen(narrow(x, stored)); }
  /// To a result's dtype.
  Value narrow(Value x, ResultType to) { return cast(x, to.dtype); }

  // Element by element, operands broadcast against each other. Bodies receive
  // one element for each operand; literals and host scalars pass through.
  using Body = llvm::function_ref<Values(Scalar, llvm::ArrayRef<Value>)>;
  Values mapMany(llvm::ArrayRef<Value> operands, Body body);
  /// The same into a given shape, to which the operands broadcast.
  Values mapMany(const Shape &shape, llvm::ArrayRef<Value> operands, Body body);
  template <typename F> Value map(Value x, F f) {
    return mapMany({x}, [&](Scalar s, llvm::ArrayRef<Value> v) -> Values {
      return {f(s, v[0])};
    })[0];
  }
  template <typename F> Value map(Value x, Value y, F f) {
    return mapMany({x, y}, [&](Scalar s, llvm::ArrayRef<Value> v) -> Values {
      return {f(s, v[0], v[1])};
    })[0];
  }
  template <typename F> Value map(Value x, Value y, Value z, F f) {
    return mapMany({x, y, z}, [&](Scalar s, llvm::ArrayRef<Value> v) -> Values {
      return {f(s, v[0], v[1], v[2])};
    })[0];
  }
  /// Each element from its position: f(Scalar, ArrayRef<Value> indices).
  /// Tensors are read with Scalar::load().
  template <typename F> Value generate(const Shape &shape, F f) {
    return mapMany(shape, {}, [&](Scalar s, llvm::ArrayRef<Value>) -> Values {
      return {f(s, indices(s, shape.size()))};
    })[0];
  }

  Value add(Value x, Value y) { return binary(&Scalar::add, x, y); }
  Value sub(Value x, Value y) { return binary(&Scalar::sub, x, y); }
  Value mul(Value x, Value y) { return binary(&Scalar::mul, x, y); }
  Value div(Value x, Value y) { return binary(&Scalar::div, x, y); }
  Value max(Value x, Value y) { return binary(&Scalar::max, x, y); }
  Value min(Value x, Value y) { return binary(&Scalar::min, x, y); }
  Value eq(Value x, Value y) { return binary(&Scalar::eq, x, y); }
  Value ne(Value x, Value y) { return binary(&Scalar::ne, x, y); }
  Value lt(Value x, Value y) { return binary(&Scalar::lt, x, y); }
  Value neg(Value x) { return unary(&Scalar::neg, x); }
  Value abs(Value x) { return unary(&Scalar::abs, x); }
  Value exp(Value x) { return unary(&Scalar::exp, x); }
  Value log(Value x) { return unary(&Scalar::log, x); }
  Value sqrt(Value x) { return unary(&Scalar::sqrt, x); }
  Value rsqrt(Value x) { return unary(&Scalar::rsqrt, x); }
  Value square(Value x) { return unary(&Scalar::square, x); }
  Value select(Value condition, Value x, Value y) {
    return map(condition, x, y, [](Scalar s, Value c, Value a, Value d) {
      return s.select(c, a, d);
    });
  }

  // Reductions. Operands broadcast against each other; `dims` count in the
  // common shape. With keepdim the reduced dimensions stay, with size 1.
  struct Accumulator {
    DType dtype;
    Value init;
  };
  using Combine = llvm::function_ref<Values(
      Scalar, llvm::ArrayRef<Value> elements, llvm::ArrayRef<Value> state)>;
  /// `combine` must not care about order: loops may be split and reordered.
  Values reduce(llvm::ArrayRef<Value> operands, Dims dims, bool keepdim,
                llvm::ArrayRef<Accumulator> state, Combine combine);
  /// In sumDType() of x.
  Value reduceSum(Value x, Dims dims, bool keepdim = true);
  Value reduceProd(Value x, Dims dims, bool keepdim = true);
  Value reduceMax(Value x, Dims dims, bool keepdim = true);
  Value reduceMin(Value x, Dims dims, bool keepdim = true);
  Value reduceAny(Value x, Dims dims, bool keepdim = true);
  Value reduceAll(Value x, Dims dims, bool keepdim = true);
  /// reduceSum over count.
  Value reduceMean(Value x, Dims dims, bool keepdim = true);
  /// The extreme value along one dimension and its first index (I64). NaN wins.
  struct ValueAndIndex {
    Value value, index;
  };
  ValueAndIndex reduceArgMax(Value x, int64_t dim, bool keepdim);
  ValueAndIndex reduceArgMin(Value x, int64_t dim, bool keepdim);

  // Data movement, for every dtype.
  /// Dimension i of the result is dimension order[i] of x.
  Value permute(Value x, Dims order);
  Value transpose(Value x, int64_t dim0, int64_t dim1);
  Value expand(Value x, const Shape &shape);
  /// Row-major order stays, and so does the number of elements.
  Value reshape(Value x, Dims sizes);
  Value reshape(Value x, ResultType to) { return reshape(x, to.sizes); }
  /// All in one dimension.
  Value flatten(Value x) { return reshape(x, {product(shape(x))}); }
  /// New dimensions of size 1 at these positions of the result.
  Value unsqueeze(Value x, Dims dims);
  /// Removes those of `dims` that have size 1.
  Value squeeze(Value x, Dims dims);
  /// Python's x[start:stop:step] along dim. Bounds as Python clamps them, but
  /// where a size is symbolic they must be in range, and step 1.
  Value slice(Value x, int64_t dim, int64_t start, int64_t stop,
              int64_t step = 1);
  /// x with x[start:stop:step] along dim replaced.
  Value insertSlice(Value x, Value part, int64_t dim, int64_t start,
                    int64_t stop, int64_t step = 1);
  Value concat(llvm::ArrayRef<Value> parts, int64_t dim);
  /// `value` around x: low and high have one entry a dimension; negative crops.
  Value pad(Value x, Dims low, Dims high, Value value);

  // Creation.
  Value full(const Shape &shape, DType dtype, Value value);
  Value empty(const Shape &shape, DType dtype);

  /// Ends the lowering of this op with an error: "not for dynamic sizes".
  void refuse(const llvm::Twine &why);
  bool isRefused() const { return refused; }

  mlir::ImplicitLocOpBuilder &builder() { return b; }
  /// For MLIR's ops to take.
  llvm::SmallVector<mlir::OpFoldResult> values(Dims sizes);

private:
  struct Access {
    mlir::Value tensor;
    mlir::AffineMap map;
  };
  struct LoopNest;
  struct ReducedNest;
  Access access(Value x, const LoopNest &nest);
  Values indices(Scalar s, size_t rank);
  Value unary(Value (Scalar::*f)(Value), Value x) {
    return map(x, [f](Scalar s, Value a) { return (s.*f)(a); });
  }
  Value binary(Value (Scalar::*f)(Value, Value), Value x, Value y) {
    return map(x, y, [f](Scalar s, Value a, Value c) { return (s.*f)(a, c); });
  }
  /// A reduction without a loop: over no dimension, or over some of size 1.
  Values reduceUnits(llvm::ArrayRef<Value> operands, Dims dropped,
                     llvm::ArrayRef<Accumulator> state, Combine combine);
  ValueAndIndex reduceArg(Value x, int64_t dim, bool keepdim, bool max);
  Value expandUnits(Value x, llvm::ArrayRef<bool> isUnit);

  mlir::ImplicitLocOpBuilder &b;
  int64_t site;
  bool refused = false;
};

} // namespace ltc::compiler
