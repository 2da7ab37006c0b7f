// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @full
// CHECK-SAME: (%[[V:.*]]: f64)
func.func @full(%v: f64) -> tensor<4x2xf32> {
  // CHECK: %[[T:.*]] = arith.truncf %[[V]] : f64 to f32
  // CHECK: linalg.fill ins(%[[T]] : f32) {{.*}} -> tensor<4x2xf32>
  %0 = ltc.op "aten::full"(size = array<i64: 4, 2>, fill_value = %v, dtype = none) node 0 : (f64) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: func.func @arange
func.func @arange() -> tensor<5xi64> {
  // CHECK-DAG: %[[START:.*]] = arith.constant 3 : i64
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 2 : i64
  // CHECK: %[[M:.*]] = arith.muli %{{.*}}, %[[STEP]]
  // CHECK: arith.addi %[[M]], %[[START]]
  %0 = ltc.op "aten::arange.start_step"(start = 3 : i64, end = 13 : i64, step = 2 : i64, dtype = none) node 0 : () -> tensor<5xi64>
  return %0 : tensor<5xi64>
}

// -----

// Bounds of integers are integers: 0, 2 and not -0.9, 1.1.
// CHECK-LABEL: func.func @arange_of_integers
func.func @arange_of_integers() -> tensor<2xi32> {
  // CHECK-NOT: f64
  // CHECK: return
  %0 = ltc.op "aten::arange.start_step"(start = -0.9 : f64, end = 2.1 : f64, step = 2.0 : f64) node 0
    : () -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
