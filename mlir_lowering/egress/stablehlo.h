//===- stablehlo.h - Graphs as StableHLO ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/egress/tensor_dialect.h"

namespace ltc::compiler {

class StableHlo final : public TensorDialect {
public:
  using TensorDialect::TensorDialect;

  llvm::StringRef name() const override { return "StableHLO"; }
  llvm::StringRef spelling(const PointwiseRow &row) const override {
    return row.stableHlo;
  }
  mlir::Type outerElement(mlir::Type element, DType dtype) override;
  mlir::Value enter(mlir::Value outer, mlir::Type element) override;
  mlir::Value leave(mlir::Value inner, mlir::Type outerElement) override;

  mlir::Value pointwise(mlir::Operation *op, mlir::ValueRange xs) override;
  mlir::Value convert(mlir::Value x, mlir::Type element) override;
  mlir::Value select(mlir::Value holds, mlir::Value x, mlir::Value y) override;
  mlir::Value equal(mlir::Value x, mlir::Value y) override {
    return compare("EQ", x, y);
  }
  mlir::Value less(mlir::Value x, mlir::Value y) override {
    return compare("LT", x, y);
  }
  mlir::Value constant(mlir::DenseElementsAttr value) override;
  mlir::Value iota(Extents shape, int64_t dim, mlir::Type element) override;
  mlir::Value reshape(mlir::Value x, Extents shape) override;
  mlir::Value transpose(mlir::Value x, Extents order) override;
  mlir::Value broadcast(mlir::Value x, Extents dims, Extents shape) override;
  mlir::Value slice(mlir::Value x, Extents starts, Extents sizes,
                    Extents strides) override;
  mlir::Value concat(mlir::ValueRange parts, int64_t dim) override;
  mlir::Value pad(mlir::Value x, Extents low, Extents high, Extents interior,
                  mlir::Value value) override;
  mlir::Value reverse(mlir::Value x, Extents dims) override;
  Tensors reduce(const Reduction &reduction) override;
  mlir::Value matmul(mlir::Value x, mlir::Value y, mlir::Type element) override;
  mlir::Value convolve(const Convolution &convolution) override;
  mlir::Value gather(mlir::Value x, Extents dims,
                     mlir::ValueRange positions) override;
  mlir::Value scatterRows(mlir::Value into, mlir::Value positions,
                          mlir::Value rows, bool adds) override;
  Tensors sort(mlir::ValueRange xs, int64_t dim, bool descends) override;
  mlir::Value scan(mlir::Value x, int64_t dim, llvm::StringRef fold,
                   mlir::Value init) override;

private:
  mlir::Attribute own(const llvm::Twine &text);
  mlir::Value bitcast(mlir::Value x, mlir::Type element);
  mlir::Type unsignedOf(mlir::Type element);
  /// x as unsigned integers; i1 and floats as they are.
  mlir::Value asUnsigned(mlir::Value x) {
    return bitcast(x, unsignedOf(elementOf(x)));
  }
  mlir::Value compare(llvm::StringRef direction, mlir::Value x, mlir::Value y);
  /// Whether x is not zero.
  mlir::Value truth(mlir::Value x);
  mlir::Value negation(mlir::Value holds);
  mlir::Value composed(mlir::Operation *op, mlir::ValueRange xs,
                       mlir::Type element);
  mlir::Value compareFloats(mlir::Operation *op, mlir::Value x, mlir::Value y);
  mlir::Value compareIntegers(mlir::Operation *op, mlir::Value x,
                              mlir::Value y);
  /// Fills the region of an op with a function of two scalars for each
  /// element, which come as (x, y, x', y') if `pairs`, else (x, x', y, y').
  void fillRegion(
      mlir::Operation *op, mlir::TypeRange elements,
      llvm::function_ref<Tensors(mlir::ValueRange left, mlir::ValueRange right)>
          body,
      bool pairs = false);
};

} // namespace ltc::compiler
