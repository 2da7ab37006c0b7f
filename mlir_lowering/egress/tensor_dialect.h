//===- tensor_dialect.h - A dialect that graphs leave in --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a dialect of whole tensors, such as StableHLO, is asked to say. Its ops
// are made by name, of a dialect that this build does not have; what they mean
// is checked by those who read them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <functional>

namespace ltc::compiler {

using Tensors = llvm::SmallVector<mlir::Value, 4>;
using Extents = llvm::ArrayRef<int64_t>;

mlir::Type elementOf(mlir::Value tensor);
/// Of an op that was made.
inline Tensors resultsOf(mlir::Operation *op) {
  return Tensors(op->result_begin(), op->result_end());
}
Extents shapeOf(mlir::Value tensor);

/// An op on elements, and how each dialect spells it; empty where another op
/// or several have to (the dialect's pointwise()), or nothing can.
struct PointwiseRow {
  llvm::StringLiteral op; ///< upstream's: "arith.addf"
  llvm::StringLiteral stableHlo, tosa;
  /// Whether integers are taken as unsigned, which the type has to say.
  bool isUnsigned = false;
};
llvm::ArrayRef<PointwiseRow> pointwiseRows();
const PointwiseRow *findPointwiseRow(llvm::StringRef op);

/// What is said of whole tensors.
struct TensorOpRow {
  llvm::StringLiteral what, stableHlo, tosa;
};
llvm::ArrayRef<TensorOpRow> tensorOpRows();

/// Tensors folded along dimensions into what starts as scalars `inits`.
struct Reduction {
  Tensors elements, inits;
  llvm::SmallVector<int64_t> dims;
  /// Upstream's op that folds two into one, for each element. Of a greatest or
  /// least value with its index, what the first is chosen by: "greater",
  /// "less".
  llvm::SmallVector<std::string> ops;
  std::function<Tensors(mlir::ValueRange left, mlir::ValueRange right)> fold;
};

/// The most general convolution: lhs [n, c, ...], rhs [o, c / groups, ...].
struct Convolution {
  mlir::Value lhs, rhs;
  llvm::SmallVector<int64_t> strides, low, high; ///< padding
  llvm::SmallVector<int64_t> lhsDilation, rhsDilation;
  int64_t groups = 1;
  /// Groups of lhs's first dimension: [n, c, ...] and [o, c, ...], o cut into
  /// as many parts.
  int64_t batchGroups = 1;
};

class TensorDialect {
public:
  explicit TensorDialect(mlir::OpBuilder &b) : b(b) {}
  virtual ~TensorDialect() = default;

  virtual llvm::StringRef name() const = 0; ///< as a user reads it
  virtual llvm::StringRef spelling(const PointwiseRow &row) const = 0;

  /// What a function of this dialect takes and gives for that dtype, and what
  /// stands in its body: bool is i8 there, and integers are signless.
  virtual mlir::Type outerElement(mlir::Type element, DType dtype) = 0;
  virtual mlir::Value enter(mlir::Value outer, mlir::Type element) = 0;
  virtual mlir::Value leave(mlir::Value inner, mlir::Type outerElement) = 0;

  /// The ops of a body, on tensors of one shape (or that broadcast, where the
  /// dialect's own ops do).
  virtual mlir::Value pointwise(mlir::Operation *op,
                                mlir::ValueRange operands) = 0;
  virtual mlir::Value convert(mlir::Value x, mlir::Type element) = 0;
  virtual mlir::Value select(mlir::Value holds, mlir::Value x,
                             mlir::Value y) = 0;
  virtual mlir::Value equal(mlir::Value x, mlir::Value y) = 0;
  virtual mlir::Value less(mlir::Value x, mlir::Value y) = 0;

  virtual mlir::Value constant(mlir::DenseElementsAttr value) = 0;
  /// Counts along a dimension.
  virtual mlir::Value iota(Extents shape, int64_t dim, mlir::Type element) = 0;
  virtual mlir::Value reshape(mlir::Value x, Extents shape) = 0;
  virtual mlir::Value transpose(mlir::Value x, Extents order) = 0;
  /// Dimension i of x becomes dimension dims[i], which ascend.
  virtual mlir::Value broadcast(mlir::Value x, Extents dims, Extents shape) = 0;
  /// The same, as far as ops on elements need it.
  virtual mlir::Value align(mlir::Value x, Extents dims, Extents shape) {
    return broadcast(x, dims, shape);
  }
  virtual mlir::Value slice(mlir::Value x, Extents starts, Extents sizes,
                            Extents strides) = 0;
  virtual mlir::Value concat(mlir::ValueRange parts, int64_t dim) = 0;
  /// `value`, a scalar, around x and, as often as `interior` says, between.
  virtual mlir::Value pad(mlir::Value x, Extents low, Extents high,
                          Extents interior, mlir::Value value) = 0;
  virtual mlir::Value reverse(mlir::Value x, Extents dims) = 0;
  virtual Tensors reduce(const Reduction &reduction) = 0;
  /// Sums over the last dimension of x and the last but one of y, for each
  /// place in the dimensions before; `element` is what is summed in.
  virtual mlir::Value matmul(mlir::Value x, mlir::Value y,
                             mlir::Type element) = 0;
  virtual mlir::Value convolve(const Convolution &convolution) = 0;
  /// x at positions: one tensor of positions for each of `dims`, all of one
  /// shape, in front of x's other dimensions in the result.
  virtual mlir::Value gather(mlir::Value x, Extents dims,
                             mlir::ValueRange positions) = 0;
  /// `into` [k, ...] with rows [n, ...] put or added at `positions` [n]. A
  /// position out of range changes nothing.
  virtual mlir::Value scatterRows(mlir::Value into, mlir::Value positions,
                                  mlir::Value rows, bool adds) = 0;
  /// Sorted along a dimension by the first, NaN as the greatest.
  virtual Tensors sort(mlir::ValueRange xs, int64_t dim, bool descends) = 0;
  /// Sums or products of all before and with each.
  virtual mlir::Value scan(mlir::Value x, int64_t dim, llvm::StringRef op,
                           mlir::Value init) = 0;

  // What follows from these.
  mlir::Value splat(mlir::TypedAttr value, Extents shape);
  mlir::Value integers(int64_t value, Extents shape);
  mlir::Value zeros(Extents shape, mlir::Type element);
  mlir::Value permuted(mlir::Value x, Extents order);
  /// `into` with a part replaced, whose offsets and steps are known.
  mlir::Value insert(mlir::Value part, mlir::Value into, Extents offsets,
                     Extents strides);
  mlir::Value arithmetic(llvm::StringRef op, mlir::ValueRange operands);
  mlir::Value flatten(mlir::Value x);
  /// The sums over all dimensions but one, taken in 32 bits at least.
  mlir::Value sumTo(mlir::Value x, int64_t dim);
  /// x in a shape, its last dimension before dimension `end` of that; what has
  /// size 1 is repeated.
  mlir::Value spread(mlir::Value x, Extents shape, int64_t end);

  /// Ends the export with an error that names the op at loc().
  mlir::Value refuse(const llvm::Twine &what, mlir::Type type);
  Tensors refuse(const llvm::Twine &what, mlir::TypeRange types);
  bool isRefused() const { return refused; }

  void setLoc(mlir::Location at) { place = at; }
  mlir::Location loc() const { return *place; }
  mlir::OpBuilder &builder() { return b; }

protected:
  mlir::Operation *make(llvm::StringRef op, mlir::TypeRange types,
                        mlir::ValueRange operands,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                        unsigned regions = 0);
  mlir::Value one(llvm::StringRef op, mlir::Type type,
                  mlir::ValueRange operands,
                  llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return make(op, type, operands, attributes)->getResult(0);
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) {
    return b.getNamedAttr(name, value);
  }
  mlir::NamedAttribute extents(llvm::StringRef name, Extents values) {
    return b.getNamedAttr(name, b.getDenseI64ArrayAttr(values));
  }
  mlir::RankedTensorType like(mlir::Value x, mlir::Type element) {
    return mlir::RankedTensorType::get(shapeOf(x), element);
  }

  mlir::OpBuilder &b;

private:
  std::optional<mlir::Location> place;
  bool refused = false;
};

std::unique_ptr<TensorDialect> makeStableHlo(mlir::OpBuilder &b);
std::unique_ptr<TensorDialect> makeTosa(mlir::OpBuilder &b);

} // namespace ltc::compiler
