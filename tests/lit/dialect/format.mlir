// RUN: ltc-opt %s | ltc-opt | FileCheck %s
// RUN: ltc-opt %s --emit-bytecode | ltc-opt | FileCheck %s

// Every kind of argument survives printing and parsing.

// CHECK-LABEL: func.func @arguments
func.func @arguments(%a: tensor<4x2xf32>, %b: tensor<4x2xi8>, %s: f64) {
  // CHECK: ltc.op "aten::x"(self = %{{.*}}, alpha = %{{.*}}, list = [%{{.*}}, none, %{{.*}}], empty = []) node 7
  // CHECK-SAME: : (tensor<4x2xf32>, f64, tensor<4x2xi8> as bool, tensor<4x2xf32>) -> (tensor<4x2xi8> as u8, tensor<f32>)
  %0:2 = ltc.op "aten::x"(self = %a, alpha = %s, list = [%b, none, %a], empty = []) node 7
    : (tensor<4x2xf32>, f64, tensor<4x2xi8> as bool, tensor<4x2xf32>) -> (tensor<4x2xi8> as u8, tensor<f32>)
  // CHECK: ltc.op "aten::y"(n = none, b = true, i = -1 : i64, d = 5.000000e-01 : f64, s = "tanh", t = #ltc.dtype<bf16>,
  // CHECK-SAME: is = array<i64: 1, 2>, ds = array<f64: 5.000000e-01>, bs = array<i1: true, false>)
  %1 = ltc.op "aten::y"(n = none, b = true, i = -1 : i64, d = 0.5 : f64, s = "tanh", t = #ltc.dtype<bf16>,
                        is = array<i64: 1, 2>, ds = array<f64: 0.5>, bs = array<i1: true, false>) : () -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @call
func.func @call(%a: tensor<2x4xf32>, %o: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: ltc.call "aten::mm"(self = %{{.*}}, mat2 = %{{.*}}) node 1 {permutations = [array<i64: 1, 0>, array<i64>]}
  // CHECK-SAME: : (tensor<2x4xf32>, tensor<2x4xf32>) outs(%{{.*}} : tensor<4x4xf32>)
  %0 = ltc.call "aten::mm"(self = %a, mat2 = %a) node 1 {permutations = [array<i64: 1, 0>, array<i64>]}
    : (tensor<2x4xf32>, tensor<2x4xf32>) outs(%o : tensor<4x4xf32>)
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @check_index
func.func @check_index(%i: index, %n: index) -> index {
  // CHECK: ltc.check_index %{{.*}}, %{{.*}} {site = 3 : i64, wrap}
  %0 = ltc.check_index %i, %n {site = 3 : i64, wrap}
  return %0 : index
}

// CHECK-LABEL: func.func @check_divisor
func.func @check_divisor(%d: i32) -> i32 {
  // CHECK: ltc.check_divisor %{{.*}} {site = 3 : i64} : i32
  %0 = ltc.check_divisor %d {site = 3 : i64} : i32
  return %0 : i32
}
