// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// Sums of f16 are taken in f32, of integers and bool in i64.

// CHECK-LABEL: func.func @sum_f16
func.func @sum_f16(%x: tensor<8x4xf16>) -> tensor<8x1xf16> {
  // CHECK: linalg.fill {{.*}} -> tensor<8xf32>
  // CHECK: iterator_types = ["parallel", "reduction"]
  // CHECK: arith.addf %{{.*}} : f32
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %0 = ltc.op "aten::sum.dim_IntList"(self = %x, dim = array<i64: -1>, keepdim = true, dtype = none) node 0
    : (tensor<8x4xf16>) -> tensor<8x1xf16>
  return %0 : tensor<8x1xf16>
}

// -----

// CHECK-LABEL: func.func @sum_bool
func.func @sum_bool(%x: tensor<8x4xi8>) -> tensor<i64> {
  // CHECK: iterator_types = ["reduction", "reduction"]
  // CHECK: arith.extui %{{.*}} : i1 to i64
  // CHECK: arith.addi %{{.*}} : i64
  %0 = ltc.op "aten::sum"(self = %x, dtype = none) node 0 : (tensor<8x4xi8> as bool) -> tensor<i64>
  return %0 : tensor<i64>
}

// -----

// The first of equal values, and NaN before all.
// CHECK-LABEL: func.func @max_dim
func.func @max_dim(%x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  // CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[BEST:.*]]: f32, %[[AT:.*]]: i64):
  // CHECK-DAG: arith.cmpf ogt, %[[X]], %[[BEST]]
  // CHECK-DAG: arith.cmpf oeq, %[[X]], %[[BEST]]
  // CHECK-DAG: arith.cmpf uno, %[[X]], %[[X]]
  // CHECK-DAG: arith.cmpi slt, %{{.*}}, %[[AT]] : i64
  %0:2 = ltc.op "aten::max.dim"(self = %x, dim = 0 : i64, keepdim = false) node 0
    : (tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// Dimensions of size 1 have no loop: the sum runs over eight elements, and
// what keepdim leaves is a reshape.
// CHECK-LABEL: func.func @units
func.func @units(%x: tensor<1x8x1xf32>) -> tensor<1x1x1xf32> {
  // CHECK: %[[X:.*]] = tensor.collapse_shape %{{.*}} : tensor<1x8x1xf32> into tensor<8xf32>
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[X]]
  // CHECK: %[[E:.*]] = tensor.expand_shape %[[S]] [] output_shape [1, 1, 1]
  // CHECK: return %[[E]]
  %0 = ltc.op "aten::sum.dim_IntList"(self = %x, dim = array<i64: 0, 1>, keepdim = true, dtype = none) node 0
    : (tensor<1x8x1xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}
