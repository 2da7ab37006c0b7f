// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @mse_mean
func.func @mse_mean(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) -> tensor<f32> {
  // CHECK: %[[N:.*]] = arith.constant 2.000000e+01 : f32
  // CHECK: arith.subf
  // CHECK: arith.mulf
  // CHECK: iterator_types = ["reduction", "reduction"]
  // CHECK: arith.divf %{{.*}}, %[[N]]
  %0 = ltc.op "aten::mse_loss"(self = %x, target = %y, reduction = 1 : i64) node 0
    : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @mse_none
func.func @mse_none(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // CHECK-NOT: reduction
  // CHECK: return %{{.*}} : tensor<4x5xf32>
  %0 = ltc.op "aten::mse_loss"(self = %x, target = %y, reduction = 0 : i64) node 0
    : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
