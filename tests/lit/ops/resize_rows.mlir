// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @_adaptive_avg_pool2d_backward(
func.func @_adaptive_avg_pool2d_backward(%a0: tensor<8x4x3xf32>, %a1: tensor<8x4x3xf32>) -> (tensor<8x4x3xf32>) {
  // CHECK: tensor.extract
  %r = ltc.op "aten::_adaptive_avg_pool2d_backward"(grad_output = %a0, self = %a1) node 0
    : (tensor<8x4x3xf32>, tensor<8x4x3xf32>) -> (tensor<8x4x3xf32>)
  return %r : tensor<8x4x3xf32>
}

// CHECK-LABEL: func.func @upsample_nearest1d(
func.func @upsample_nearest1d(%x: tensor<2x3x4xf32>) -> (tensor<2x3x8xf32>) {
  // CHECK: arith.divsi
  // CHECK: tensor.extract
  %r = ltc.op "aten::upsample_nearest1d"(self = %x, output_size = array<i64: 8>, scales = none) node 0
    : (tensor<2x3x4xf32>) -> (tensor<2x3x8xf32>)
  return %r : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @upsample_nearest1d_backward(
func.func @upsample_nearest1d_backward(%g: tensor<2x3x8xf32>) -> (tensor<2x3x4xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: "reduction"
  // CHECK: arith.addf
  %r = ltc.op "aten::upsample_nearest1d_backward"(grad_output = %g, output_size = array<i64: 8>, input_size = array<i64: 2, 3, 4>, scales = none) node 0
    : (tensor<2x3x8xf32>) -> (tensor<2x3x4xf32>)
  return %r : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @upsample_nearest2d(
func.func @upsample_nearest2d(%x: tensor<2x3x4x4xf32>) -> (tensor<2x3x8x8xf32>) {
  // CHECK: arith.divsi
  // CHECK: tensor.extract
  %r = ltc.op "aten::upsample_nearest2d"(self = %x, output_size = array<i64: 8, 8>, scales_h = none, scales_w = none) node 0
    : (tensor<2x3x4x4xf32>) -> (tensor<2x3x8x8xf32>)
  return %r : tensor<2x3x8x8xf32>
}

// CHECK-LABEL: func.func @upsample_nearest2d_backward(
func.func @upsample_nearest2d_backward(%g: tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: "reduction"
  // CHECK: arith.addf
  %r = ltc.op "aten::upsample_nearest2d_backward"(grad_output = %g, output_size = array<i64: 8, 8>, input_size = array<i64: 2, 3, 4, 4>, scales_h = none, scales_w = none) node 0
    : (tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>)
  return %r : tensor<2x3x4x4xf32>
}

// CHECK-LABEL: func.func @upsample_nearest3d(
func.func @upsample_nearest3d(%x: tensor<2x3x4x4x4xf32>) -> (tensor<2x3x8x8x8xf32>) {
  // CHECK: arith.divsi
  // CHECK: tensor.extract
  %r = ltc.op "aten::upsample_nearest3d"(self = %x, output_size = array<i64: 8, 8, 8>, scales_d = none, scales_h = none, scales_w = none) node 0
    : (tensor<2x3x4x4x4xf32>) -> (tensor<2x3x8x8x8xf32>)
  return %r : tensor<2x3x8x8x8xf32>
}

// CHECK-LABEL: func.func @upsample_nearest3d_backward(
func.func @upsample_nearest3d_backward(%g: tensor<2x3x8x8x8xf32>) -> (tensor<2x3x4x4x4xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: "reduction"
  // CHECK: arith.addf
  %r = ltc.op "aten::upsample_nearest3d_backward"(grad_output = %g, output_size = array<i64: 8, 8, 8>, input_size = array<i64: 2, 3, 4, 4, 4>, scales_d = none, scales_h = none, scales_w = none) node 0
    : (tensor<2x3x8x8x8xf32>) -> (tensor<2x3x4x4x4xf32>)
  return %r : tensor<2x3x4x4x4xf32>
}
