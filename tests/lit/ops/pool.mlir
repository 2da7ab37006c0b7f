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
