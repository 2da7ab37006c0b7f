// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @cat
func.func @cat(%x: tensor<8x3xf32>, %y: tensor<8x5xi32>, %e: tensor<0xf32>) -> tensor<8x8xf32> {
  // CHECK: %[[Y:.*]] = linalg.generic
  // CHECK: arith.sitofp
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<8x8xf32>
  // CHECK: %[[L:.*]] = tensor.insert_slice %{{.*}} into %[[E]][0, 0] [8, 3] [1, 1]
  // CHECK: %[[R:.*]] = tensor.insert_slice %[[Y]] into %[[L]][0, 3] [8, 5] [1, 1]
  // CHECK: return %[[R]]
  %0 = ltc.op "aten::cat"(tensors = [%e, %x, %y], dim = -1 : i64) node 0
    : (tensor<0xf32>, tensor<8x3xf32>, tensor<8x5xi32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// Two columns in front of value, the last row cut off.
// CHECK-LABEL: func.func @pad
func.func @pad(%x: tensor<8x3xf32>) -> tensor<7x6xf32> {
  // CHECK: %[[V:.*]] = arith.constant 5.0
  // CHECK: %[[S:.*]] = tensor.extract_slice %{{.*}}[0, 0] [7, 3] [1, 1]
  // CHECK: %[[F:.*]] = linalg.fill ins(%[[V]] : f32) {{.*}} -> tensor<7x6xf32>
  // CHECK: tensor.insert_slice %[[S]] into %[[F]][0, 2] [7, 3] [1, 1]
  %0 = ltc.op "aten::constant_pad_nd"(self = %x, pad = array<i64: 2, 1, 0, -1>, value = 5 : i64) node 0
    : (tensor<8x3xf32>) -> tensor<7x6xf32>
  return %0 : tensor<7x6xf32>
}
