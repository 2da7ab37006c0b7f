// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @avg_pool2d(
func.func @avg_pool2d(%a0: tensor<2x3x9x9xf32>) -> (tensor<2x3x9x9xf32>) {
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  %r = ltc.op "aten::avg_pool2d"(self = %a0, kernel_size = array<i64: 3, 3>, stride = array<i64: 1, 1>, padding = array<i64: 1>, ceil_mode = true, count_include_pad = false, divisor_override = 2 : i64) node 0
    : (tensor<2x3x9x9xf32>) -> (tensor<2x3x9x9xf32>)
  return %r : tensor<2x3x9x9xf32>
}

// CHECK-LABEL: func.func @avg_pool2d_backward(
func.func @avg_pool2d_backward(%a0: tensor<2x3x9x9xf32>, %a1: tensor<2x3x9x9xf32>) -> (tensor<2x3x9x9xf32>) {
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  %r = ltc.op "aten::avg_pool2d_backward"(grad_output = %a0, self = %a1, kernel_size = array<i64: 3, 3>, stride = array<i64: 1, 1>, padding = array<i64: 1>, ceil_mode = true, count_include_pad = false, divisor_override = 2 : i64) node 0
    : (tensor<2x3x9x9xf32>, tensor<2x3x9x9xf32>) -> (tensor<2x3x9x9xf32>)
  return %r : tensor<2x3x9x9xf32>
}

// CHECK-LABEL: func.func @max_pool2d_with_indices(
func.func @max_pool2d_with_indices(%a0: tensor<2x6x6xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi64>) {
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  %r:2 = ltc.op "aten::max_pool2d_with_indices"(self = %a0, kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = true) node 0
    : (tensor<2x6x6xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi64>)
  return %r#0, %r#1 : tensor<2x3x3xf32>, tensor<2x3x3xi64>
}
