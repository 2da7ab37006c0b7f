// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s

// The counter is the element's row-major number; ten rounds of two multiplies.

// CHECK-LABEL: func.func @uniform
func.func @uniform(%x: tensor<4x8xf32>, %seed: i64) -> tensor<4x8xf32> {
  // CHECK: %[[ROW:.*]] = linalg.index 0
  // CHECK: %[[COLUMN:.*]] = linalg.index 1
  // CHECK: arith.muli
  // CHECK: arith.addi
  // CHECK: arith.shrui %{{.*}} : i32
  // CHECK: arith.sitofp %{{.*}} : i32 to f32
  // CHECK: arith.mulf
  %0 = ltc.op "aten::uniform"(self = %x, from = -1.0 : f64, to = 1.0 : f64, seed = %seed) node 0
    : (tensor<4x8xf32>, i64) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
