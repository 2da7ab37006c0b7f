// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @arange(
func.func @arange() -> (tensor<2xi64>) {
  // CHECK: linalg.generic
  %r = ltc.op "aten::arange"(end = 2 : i64, dtype = #ltc.dtype<i64>) node 0
    : () -> (tensor<2xi64>)
  return %r : tensor<2xi64>
}

// CHECK-LABEL: func.func @arange_start(
func.func @arange_start() -> (tensor<16xi64>) {
  // CHECK: linalg.generic
  %r = ltc.op "aten::arange.start"(start = 0 : i64, end = 16 : i64, dtype = #ltc.dtype<i64>) node 0
    : () -> (tensor<16xi64>)
  return %r : tensor<16xi64>
}

// CHECK-LABEL: func.func @copy(
func.func @copy(%a0: tensor<2xf32>, %a1: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::copy"(self = %a0, src = %a1, non_blocking = false) node 0
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @eye(
func.func @eye() -> (tensor<0x0xf32>) {
  // CHECK: arith.cmpi eq
  // CHECK: arith.cmpi ne
  // CHECK: arith.uitofp
  %r = ltc.op "aten::eye"(n = 0 : i64, dtype = #ltc.dtype<f32>) node 0
    : () -> (tensor<0x0xf32>)
  return %r : tensor<0x0xf32>
}

// CHECK-LABEL: func.func @eye_m(
func.func @eye_m() -> (tensor<4x4xf32>) {
  // CHECK: arith.cmpi eq
  // CHECK: arith.cmpi ne
  // CHECK: arith.uitofp
  %r = ltc.op "aten::eye.m"(n = 4 : i64, m = 4 : i64, dtype = #ltc.dtype<f32>) node 0
    : () -> (tensor<4x4xf32>)
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @fill_Scalar(
func.func @fill_Scalar(%a0: tensor<2xf32>, %a1: i64) -> (tensor<2xf32>) {
  // CHECK: arith.sitofp
  // CHECK: linalg.fill
  %r = ltc.op "aten::fill.Scalar"(self = %a0, value = %a1) node 0
    : (tensor<2xf32>, i64) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @full_like(
func.func @full_like(%a0: tensor<2xf32>, %a1: f64) -> (tensor<2xf32>) {
  // CHECK: arith.truncf
  // CHECK: linalg.fill
  %r = ltc.op "aten::full_like"(self = %a0, fill_value = %a1, dtype = none, memory_format = none) node 0
    : (tensor<2xf32>, f64) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @linspace(
func.func @linspace() -> (tensor<0xf32>) {
  // CHECK: arith.cmpi slt
  // CHECK: arith.sitofp
  // CHECK: arith.mulf
  // CHECK: arith.addf
  // CHECK: arith.subi
  // CHECK: arith.sitofp
  %r = ltc.op "aten::linspace"(start = -2.0 : f64, end = -3 : i64, steps = 0 : i64, dtype = #ltc.dtype<f32>) node 0
    : () -> (tensor<0xf32>)
  return %r : tensor<0xf32>
}

// CHECK-LABEL: func.func @new_full(
func.func @new_full(%a0: tensor<5xf32>, %a1: f64) -> (tensor<2x3xf32>) {
  // CHECK: arith.truncf
  // CHECK: linalg.fill
  %r = ltc.op "aten::new_full"(self = %a0, size = array<i64: 2, 3>, fill_value = %a1, dtype = #ltc.dtype<f32>) node 0
    : (tensor<5xf32>, f64) -> (tensor<2x3xf32>)
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @new_ones(
func.func @new_ones(%a0: tensor<5xf32>) -> (tensor<2x3xf32>) {
  // CHECK: linalg.fill
  %r = ltc.op "aten::new_ones"(self = %a0, size = array<i64: 2, 3>, dtype = #ltc.dtype<f32>) node 0
    : (tensor<5xf32>) -> (tensor<2x3xf32>)
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @new_zeros(
func.func @new_zeros(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: linalg.fill
  %r = ltc.op "aten::new_zeros"(self = %a0, size = array<i64: 2>, dtype = none) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @ones(
func.func @ones() -> (tensor<10xf32>) {
  // CHECK: linalg.fill
  %r = ltc.op "aten::ones"(size = array<i64: 10>, dtype = #ltc.dtype<f32>) node 0
    : () -> (tensor<10xf32>)
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func.func @ones_like(
func.func @ones_like(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: linalg.fill
  %r = ltc.op "aten::ones_like"(self = %a0, dtype = #ltc.dtype<f32>, memory_format = none) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @scalar_tensor(
func.func @scalar_tensor(%a0: f64) -> (tensor<f32>) {
  // CHECK: arith.truncf
  // CHECK: linalg.fill
  %r = ltc.op "aten::scalar_tensor"(s = %a0, dtype = #ltc.dtype<f32>) node 0
    : (f64) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @tril(
func.func @tril(%a0: tensor<10x5xf32>) -> (tensor<10x5xf32>) {
  // CHECK: arith.subi
  // CHECK: arith.cmpi sle
  // CHECK: tensor.extract
  // CHECK: arith.select
  %r = ltc.op "aten::tril"(self = %a0, diagonal = 0 : i64) node 0
    : (tensor<10x5xf32>) -> (tensor<10x5xf32>)
  return %r : tensor<10x5xf32>
}

// CHECK-LABEL: func.func @triu(
func.func @triu(%a0: tensor<10x5xf32>) -> (tensor<10x5xf32>) {
  // CHECK: arith.subi
  // CHECK: arith.cmpi sge
  // CHECK: tensor.extract
  // CHECK: arith.select
  %r = ltc.op "aten::triu"(self = %a0, diagonal = 0 : i64) node 0
    : (tensor<10x5xf32>) -> (tensor<10x5xf32>)
  return %r : tensor<10x5xf32>
}

// CHECK-LABEL: func.func @zero(
func.func @zero(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: linalg.fill
  %r = ltc.op "aten::zero"(self = %a0) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @zeros(
func.func @zeros() -> (tensor<2xf32>) {
  // CHECK: linalg.fill
  %r = ltc.op "aten::zeros"(size = array<i64: 2>, dtype = #ltc.dtype<f32>) node 0
    : () -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @zeros_like(
func.func @zeros_like(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: linalg.fill
  %r = ltc.op "aten::zeros_like"(self = %a0, dtype = none, memory_format = none) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @fill_Tensor(
func.func @fill_Tensor(%x: tensor<4x8xf32>, %v: tensor<f32>) -> (tensor<4x8xf32>) {
  // CHECK: linalg.generic
  %r = ltc.op "aten::fill.Tensor"(self = %x, value = %v) node 0
    : (tensor<4x8xf32>, tensor<f32>) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}
