// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @binary_cross_entropy(
func.func @binary_cross_entropy(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<f32>) {
  // CHECK: ltc.check {{.*}} "all elements of input should be between 0 and 1"
  // CHECK: ltc.check {{.*}} "all elements of target should be between 0 and 1"
  // CHECK: math.log
  // CHECK: math.log1p
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::binary_cross_entropy"(self = %a0, target = %a1, weight = none, reduction = 1 : i64) node 0
    : (tensor<5xf32>, tensor<5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @binary_cross_entropy_backward(
func.func @binary_cross_entropy_backward(%a0: tensor<f32>, %a1: tensor<5xf32>, %a2: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.subf
  // CHECK: arith.mulf
  // CHECK: arith.maximumf
  // CHECK: arith.subf
  // CHECK: arith.mulf
  // CHECK: arith.divf
  %r = ltc.op "aten::binary_cross_entropy_backward"(grad_output = %a0, self = %a1, target = %a2, weight = none, reduction = 1 : i64) node 0
    : (tensor<f32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @binary_cross_entropy_with_logits(
func.func @binary_cross_entropy_with_logits(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<f32>) {
  // CHECK: math.absf
  // CHECK: math.exp
  // CHECK: math.log1p
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::binary_cross_entropy_with_logits"(self = %a0, target = %a1, weight = none, pos_weight = none, reduction = 1 : i64) node 0
    : (tensor<5xf32>, tensor<5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @huber_loss(
func.func @huber_loss(%a0: tensor<5xf32>, %a1: tensor<5xf32>, %a2: f64) -> (tensor<f32>) {
  // CHECK: math.absf
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::huber_loss"(self = %a0, target = %a1, reduction = 1 : i64, delta = %a2) node 0
    : (tensor<5xf32>, tensor<5xf32>, f64) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @huber_loss_backward(
func.func @huber_loss_backward(%a0: tensor<5xf32>, %a1: tensor<5xf32>, %a2: tensor<5xf32>, %a3: f64) -> (tensor<5xf32>) {
  // CHECK: arith.subf
  // CHECK: arith.truncf
  // CHECK: arith.minimumf
  // CHECK: arith.negf
  // CHECK: arith.maximumf
  %r = ltc.op "aten::huber_loss_backward"(grad_output = %a0, self = %a1, target = %a2, reduction = 0 : i64, delta = %a3) node 0
    : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, f64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @mse_loss_backward(
func.func @mse_loss_backward(%a0: tensor<f32>, %a1: tensor<5xf32>, %a2: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.subf
  // CHECK: arith.mulf
  // CHECK: arith.divf
  %r = ltc.op "aten::mse_loss_backward"(grad_output = %a0, self = %a1, target = %a2, reduction = 1 : i64) node 0
    : (tensor<f32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @nll_loss2d_backward(
func.func @nll_loss2d_backward(%a0: tensor<2x2x2xf32>, %a1: tensor<2x3x2x2xf32>, %a2: tensor<2x2x2xi64>, %a3: tensor<f32>) -> (tensor<2x3x2x2xf32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  %r = ltc.op "aten::nll_loss2d_backward"(grad_output = %a0, self = %a1, target = %a2, weight = none, reduction = 0 : i64, ignore_index = 1 : i64, total_weight = %a3) node 0
    : (tensor<2x2x2xf32>, tensor<2x3x2x2xf32>, tensor<2x2x2xi64>, tensor<f32>) -> (tensor<2x3x2x2xf32>)
  return %r : tensor<2x3x2x2xf32>
}

// CHECK-LABEL: func.func @nll_loss2d_forward(
func.func @nll_loss2d_forward(%a0: tensor<2x3x2x2xf32>, %a1: tensor<2x2x2xi64>, %a2: tensor<3xf32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  %r:2 = ltc.op "aten::nll_loss2d_forward"(self = %a0, target = %a1, weight = %a2, reduction = 1 : i64, ignore_index = -100 : i64) node 0
    : (tensor<2x3x2x2xf32>, tensor<2x2x2xi64>, tensor<3xf32>) -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @nll_loss_backward(
func.func @nll_loss_backward(%a0: tensor<f32>, %a1: tensor<3xf32>, %a2: tensor<i64>, %a3: tensor<3xf32>, %a4: tensor<f32>) -> (tensor<3xf32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  %r = ltc.op "aten::nll_loss_backward"(grad_output = %a0, self = %a1, target = %a2, weight = %a3, reduction = 0 : i64, ignore_index = 1 : i64, total_weight = %a4) node 0
    : (tensor<f32>, tensor<3xf32>, tensor<i64>, tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @nll_loss_forward(
func.func @nll_loss_forward(%a0: tensor<2x3xf32>, %a1: tensor<2xi64>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  // CHECK: tensor.extract
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r:2 = ltc.op "aten::nll_loss_forward"(self = %a0, target = %a1, weight = none, reduction = 1 : i64, ignore_index = -100 : i64) node 0
    : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @smooth_l1_loss(
func.func @smooth_l1_loss(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<f32>) {
  // CHECK: math.absf
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::smooth_l1_loss"(self = %a0, target = %a1, reduction = 1 : i64, beta = 1.0 : f64) node 0
    : (tensor<5xf32>, tensor<5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @smooth_l1_loss_backward(
func.func @smooth_l1_loss_backward(%a0: tensor<f32>, %a1: tensor<5xf32>, %a2: tensor<5xf32>, %a3: f64) -> (tensor<5xf32>) {
  // CHECK: math.absf
  %r = ltc.op "aten::smooth_l1_loss_backward"(grad_output = %a0, self = %a1, target = %a2, reduction = 1 : i64, beta = %a3) node 0
    : (tensor<f32>, tensor<5xf32>, tensor<5xf32>, f64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}
