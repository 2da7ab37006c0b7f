//===- tosa.h - Graphs as TOSA ----------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/egress/tensor_dialect.h"

namespace ltc::compiler {

class Tosa final : public TensorDialect {
public:
  using TensorDialect::TensorDialect;

  llvm::StringRef name() const override { return "TOSA"; }
  llvm::StringRef spelling(const PointwiseRow &row) const override {
    return row.tosa;
  }
  mlir::Type outerElement(mlir::Type element, DType dtype) override {
    return dtype == DType::Bool ? b.getI1Type() : element;
  }
  mlir::Value enter(mlir::Value outer, mlir::Type element) override {
    return convert(outer, element);
  }
  mlir::Value leave(mlir::Value inner, mlir::Type outerElement) override {
    return outerElement.isInteger(1) ? truth(inner) : inner;
  }

  mlir::Value pointwise(mlir::Operation *op, mlir::ValueRange xs) override;
  mlir::Value convert(mlir::Value x, mlir::Type element) override;
  mlir::Value select(mlir::Value holds, mlir::Value x, mlir::Value y) override {
    return elementwise("tosa.select", {holds, x, y}, elementOf(x));
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) override {
    return elementwise("tosa.equal", {x, y}, b.getI1Type());
  }
  mlir::Value less(mlir::Value x, mlir::Value y) override {
    return elementwise("tosa.greater", {y, x}, b.getI1Type());
  }
  mlir::Value constant(mlir::DenseElementsAttr value) override;
  mlir::Value iota(Extents shape, int64_t dim, mlir::Type element) override;
  mlir::Value reshape(mlir::Value x, Extents shape) override;
  mlir::Value transpose(mlir::Value x, Extents order) override;
  mlir::Value broadcast(mlir::Value x, Extents dims, Extents shape) override;
  mlir::Value align(mlir::Value x, Extents dims, Extents shape) override;
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
  /// A !tosa.shape of these numbers.
  mlir::Value shape(Extents sizes);
  /// An op on operands of one rank, which broadcast.
  mlir::Value elementwise(llvm::StringRef op, mlir::ValueRange xs,
                          mlir::Type element);
  /// A number in as many dimensions as x has.
  mlir::Value number(double value, mlir::Value like);
  mlir::Value truth(mlir::Value x);
  mlir::Value negation(mlir::Value holds);
  mlir::Value product(mlir::Value x, mlir::Value y);
  mlir::Value fold(llvm::StringRef name, mlir::Value x, Extents dims);
  Tensors choose(const Reduction &reduction, Extents kept);
  mlir::Value plainPad(mlir::Value x, Extents low, Extents high,
                       mlir::Value value);
  mlir::Value plainSlice(mlir::Value x, Extents starts, Extents sizes);
  mlir::Value convolvePlainly(const Convolution &convolution);
  mlir::Value logical(mlir::Operation *op, mlir::ValueRange xs,
                      mlir::Type element);
  mlir::Value cast(mlir::Operation *op, mlir::Value x, mlir::Type element);
  mlir::Value composed(mlir::Operation *op, mlir::ValueRange xs,
                       mlir::Type element);
  mlir::Value compareFloats(mlir::Operation *op, mlir::Value x, mlir::Value y);
  mlir::Value compareIntegers(mlir::Operation *op, mlir::Value x,
                              mlir::Value y);
};

} // namespace ltc::compiler
