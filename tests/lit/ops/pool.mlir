// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @global_average
func.func @global_average(%x: tensor<2x3x7x7xf32>) -> tensor<2x3x1x1xf32> {
  // CHECK: iterator_types = ["parallel", "parallel", "reduction", "reduction"]
  // CHECK: arith.divf %{{.*}}, %{{.*}}
  %0 = ltc.op "aten::_adaptive_avg_pool2d"(self = %x, output_size = array<i64: 1, 1>) node 0
    : (tensor<2x3x7x7xf32>) -> tensor<2x3x1x1xf32>
  return %0 : tensor<2x3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @no_blocks
func.func @no_blocks(%x: tensor<2x3x8x8xf32>) -> tensor<2x3x3x3xf32> {
  // CHECK: ltc.call "aten::_adaptive_avg_pool2d"
  %0 = ltc.op "aten::_adaptive_avg_pool2d"(self = %x, output_size = array<i64: 3, 3>) node 0
    : (tensor<2x3x8x8xf32>) -> tensor<2x3x3x3xf32>
  return %0 : tensor<2x3x3x3xf32>
}

// -----

// Vectors of 16-bit elements that lie apart cannot be loaded.
// CHECK-LABEL: func.func @widened_before_its_taps
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x8xbf16>)
func.func @widened_before_its_taps(%x: tensor<2x3x8x8xbf16>) -> (tensor<2x3x4x4xbf16>, tensor<2x3x4x4xi64>) {
  // CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<2x3x8x8xbf16>)
  // CHECK: arith.extf
  // CHECK: tensor.extract %[[WIDE]]
  // CHECK-NOT: tensor.extract %[[X]]
  %0:2 = ltc.op "aten::max_pool2d_with_indices"(self = %x, kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, ceil_mode = false) node 0
    : (tensor<2x3x8x8xbf16>) -> (tensor<2x3x4x4xbf16>, tensor<2x3x4x4xi64>)
  return %0#0, %0#1 : tensor<2x3x4x4xbf16>, tensor<2x3x4x4xi64>
}

// -----

// To scatter is faster than to ask every window.
// CHECK-LABEL: func.func @max_pool2d_with_indices_backward
func.func @max_pool2d_with_indices_backward(%a0: tensor<2x3x3xf32>, %a1: tensor<2x6x6xf32>, %a2: tensor<2x3x3xi64>) -> (tensor<2x6x6xf32>) {
  // CHECK: ltc.call "aten::max_pool2d_with_indices_backward"
  %r = ltc.op "aten::max_pool2d_with_indices_backward"(grad_output = %a0, self = %a1, kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = true, indices = %a2) node 0
    : (tensor<2x3x3xf32>, tensor<2x6x6xf32>, tensor<2x3x3xi64>) -> (tensor<2x6x6xf32>)
  return %r : tensor<2x6x6xf32>
}
