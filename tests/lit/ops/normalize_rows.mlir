// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @_native_batch_norm_legit_no_stats(
func.func @_native_batch_norm_legit_no_stats(%a0: tensor<1x2x3xf32>, %a1: f64, %a2: f64) -> (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK: tensor.collapse_shape
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.sqrt
  // CHECK: tensor.expand_shape
  %r:3 = ltc.op "aten::_native_batch_norm_legit.no_stats"(input = %a0, weight = none, bias = none, training = true, momentum = %a1, eps = %a2) node 0
    : (tensor<1x2x3xf32>, f64, f64) -> (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return %r#0, %r#1, %r#2 : tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @native_batch_norm(
func.func @native_batch_norm(%a0: tensor<5x5x5xf32>, %a1: tensor<5xf32>, %a2: tensor<5xf32>, %a3: tensor<5xf32>, %a4: tensor<5xf32>, %a5: f64, %a6: f64) -> (tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.sqrt
  %r:3 = ltc.op "aten::native_batch_norm"(input = %a0, weight = %a1, bias = %a2, running_mean = %a3, running_var = %a4, training = true, momentum = %a5, eps = %a6) node 0
    : (tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, f64, f64) -> (tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>)
  return %r#0, %r#1, %r#2 : tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>
}

// CHECK-LABEL: func.func @native_batch_norm_backward(
func.func @native_batch_norm_backward(%a0: tensor<5x5x5xf32>, %a1: tensor<5x5x5xf32>, %a2: tensor<5xf32>, %a3: tensor<5xf32>, %a4: tensor<5xf32>, %a5: tensor<5xf32>, %a6: tensor<5xf32>, %a7: f64) -> (tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  %r:3 = ltc.op "aten::native_batch_norm_backward"(grad_out = %a0, input = %a1, weight = %a2, running_mean = %a3, running_var = %a4, save_mean = %a5, save_invstd = %a6, train = true, eps = %a7, output_mask = array<i1: true, true, true>) node 0
    : (tensor<5x5x5xf32>, tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, f64) -> (tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>)
  return %r#0, %r#1, %r#2 : tensor<5x5x5xf32>, tensor<5xf32>, tensor<5xf32>
}

// CHECK-LABEL: func.func @native_group_norm(
func.func @native_group_norm(%a0: tensor<2x6x3xf32>, %a1: tensor<6xf32>, %a2: tensor<6xf32>, %a3: f64) -> (tensor<2x6x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.sqrt
  // CHECK: tensor.expand_shape
  %r:3 = ltc.op "aten::native_group_norm"(input = %a0, weight = %a1, bias = %a2, N = 2 : i64, C = 6 : i64, HxW = 3 : i64, group = 2 : i64, eps = %a3) node 0
    : (tensor<2x6x3xf32>, tensor<6xf32>, tensor<6xf32>, f64) -> (tensor<2x6x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  return %r#0, %r#1, %r#2 : tensor<2x6x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @native_group_norm_backward(
func.func @native_group_norm_backward(%a0: tensor<2x6x3xf32>, %a1: tensor<2x6x3xf32>, %a2: tensor<2x2xf32>, %a3: tensor<2x2xf32>, %a4: tensor<6xf32>) -> (tensor<2x6x3xf32>, tensor<6xf32>, tensor<6xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: tensor.expand_shape
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: tensor.collapse_shape
  %r:3 = ltc.op "aten::native_group_norm_backward"(grad_out = %a0, input = %a1, mean = %a2, rstd = %a3, weight = %a4, N = 2 : i64, C = 6 : i64, HxW = 3 : i64, group = 2 : i64, output_mask = array<i1: true, true, true>) node 0
    : (tensor<2x6x3xf32>, tensor<2x6x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<6xf32>) -> (tensor<2x6x3xf32>, tensor<6xf32>, tensor<6xf32>)
  return %r#0, %r#1, %r#2 : tensor<2x6x3xf32>, tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: func.func @native_layer_norm_backward(
func.func @native_layer_norm_backward(%a0: tensor<1xf32>, %a1: tensor<1xf32>, %a2: tensor<1xf32>, %a3: tensor<1xf32>, %a4: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.expand_shape
  // CHECK: tensor.expand_shape
  %r:2 = ltc.op "aten::native_layer_norm_backward"(grad_out = %a0, input = %a1, normalized_shape = array<i64: 1>, mean = %a2, rstd = %a3, weight = %a4, bias = none, output_mask = array<i1: true, true, false>) node 0
    : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>)
  return %r#0, %r#1 : tensor<1xf32>, tensor<1xf32>
}

// CHECK-LABEL: func.func @_native_batch_norm_legit_functional(
func.func @_native_batch_norm_legit_functional(%x: tensor<4x3x5xf32>, %w: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: "reduction"
  // CHECK: arith.divf
  // CHECK: "reduction"
  // CHECK: math.sqrt
  %r:5 = ltc.op "aten::_native_batch_norm_legit_functional"(input = %x, weight = %w, bias = %b, running_mean = %m, running_var = %v, training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64) node 0
    : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @_native_batch_norm_legit_no_training(
func.func @_native_batch_norm_legit_no_training(%x: tensor<4x3x5xf32>, %w: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<0xf32>, tensor<0xf32>) {
  // CHECK: math.sqrt
  // CHECK: arith.subf
  // CHECK: arith.mulf
  %r:3 = ltc.op "aten::_native_batch_norm_legit_no_training"(input = %x, weight = %w, bias = %b, running_mean = %m, running_var = %v, momentum = 0.1 : f64, eps = 1.0e-05 : f64) node 0
    : (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<0xf32>, tensor<0xf32>)
  return %r#0, %r#1, %r#2 : tensor<4x3x5xf32>, tensor<0xf32>, tensor<0xf32>
}
