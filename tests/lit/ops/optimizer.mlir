// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s --implicit-check-not=ltc.call

// A step of all parameters: what the number of the step decides is worked out
// once, in doubles, and each parameter is updated in one loop with its state.

// CHECK-LABEL: func.func @adamw
// CHECK-SAME: (%[[P:[a-z0-9]+]]: tensor<4xf32>, %[[Q:[a-z0-9]+]]: tensor<2x3xf32>,
func.func @adamw(%p: tensor<4xf32>, %q: tensor<2x3xf32>, %g: tensor<4xf32>, %h: tensor<2x3xf32>,
                 %m: tensor<4xf32>, %n: tensor<2x3xf32>, %v: tensor<4xf32>, %w: tensor<2x3xf32>,
                 %step: f64, %lr: f64, %b1: f64, %b2: f64, %wd: f64, %eps: f64)
    -> (tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>) {
  // CHECK: %[[NUMBERS:.*]]:3 = linalg.generic {{.*}} outs({{.*}} : tensor<f64>, tensor<f64>, tensor<f64>)
  // CHECK: math.powf
  // CHECK: math.powf
  // CHECK: math.sqrt
  // CHECK: linalg.yield %{{.*}}, %{{.*}}, %{{.*}} : f64, f64, f64
  // CHECK: %[[FIRST:.*]]:3 = linalg.generic {{.*}} ins(%[[NUMBERS]]#0, %[[NUMBERS]]#1, %[[NUMBERS]]#2, %[[P]],
  // CHECK-NOT: math.powf
  // CHECK: arith.mulf
  // CHECK: math.sqrt
  // CHECK: linalg.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32
  // CHECK: %[[SECOND:.*]]:3 = linalg.generic {{.*}} ins(%[[NUMBERS]]#0, %[[NUMBERS]]#1, %[[NUMBERS]]#2, %[[Q]],
  // CHECK: return %[[FIRST]]#0, %[[SECOND]]#0, %[[FIRST]]#1, %[[SECOND]]#1, %[[FIRST]]#2, %[[SECOND]]#2
  %r:8 = ltc.op "aten::_fused_adamw"(self = [%p, %q], grads = [%g, %h], exp_avgs = [%m, %n], exp_avg_sqs = [%v, %w],
      max_exp_avg_sqs = [], state_steps = [%step], lr = %lr, beta1 = %b1, beta2 = %b2, weight_decay = %wd, eps = %eps,
      amsgrad = false, maximize = false, grad_scale = none, found_inf = none) node 0
    : (tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>,
       f64, f64, f64, f64, f64, f64)
    -> (tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>)
  return %r#0, %r#1, %r#4, %r#5, %r#6, %r#7 : tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<2x3xf32>
}

// -----

// Steps and a rate on the device, the largest average so far, 16 bits that are
// rounded when they are stored.

// CHECK-LABEL: func.func @adam_tensor_lr
func.func @adam_tensor_lr(%p: tensor<4xbf16>, %g: tensor<4xbf16>, %m: tensor<4xbf16>, %v: tensor<4xbf16>, %x: tensor<4xbf16>,
                          %step: tensor<f32>, %lr: tensor<f32>)
    -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) {
  // CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<f32>, tensor<f32>)
  // CHECK: math.powf
  // CHECK: linalg.generic
  // CHECK: arith.negf
  // CHECK: arith.maximumf
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK: linalg.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : bf16, bf16, bf16, bf16
  %r:5 = ltc.op "aten::_fused_adam.tensor_lr"(self = [%p], grads = [%g], exp_avgs = [%m], exp_avg_sqs = [%v],
      max_exp_avg_sqs = [%x], state_steps = [%step], lr = %lr, beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.0 : f64,
      eps = 1.0e-8 : f64, amsgrad = true, maximize = true, grad_scale = none, found_inf = none) node 0
    : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>, tensor<f32>)
    -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  return %r#0, %r#2, %r#3, %r#4 : tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>
}

// -----

// Where an infinity was found, all keep what they were, the gradients too.

// CHECK-LABEL: func.func @sgd
func.func @sgd(%p: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %lr: f64, %scale: tensor<f32>, %found: tensor<f32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: linalg.generic
  // CHECK: arith.divf
  // CHECK-COUNT-3: arith.select
  // CHECK: linalg.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32
  %r:3 = ltc.op "aten::_fused_sgd"(self = [%p], grads = [%g], momentum_buffer_list = [%b], weight_decay = 0.0 : f64,
      momentum = 0.9 : f64, lr = %lr, dampening = 0.1 : f64, nesterov = true, maximize = false, is_first_step = false,
      grad_scale = %scale, found_inf = %found) node 0
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, f64, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Without momentum there is a product and a sum; first averages are gradients.

// CHECK-LABEL: func.func @plain_sgd
func.func @plain_sgd(%p: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %lr: tensor<f32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: arith.mulf
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: linalg.yield
  %r:2 = ltc.op "aten::_fused_sgd.tensor_lr"(self = [%p], grads = [%g], momentum_buffer_list = [], weight_decay = 0.0 : f64,
      momentum = 0.0 : f64, lr = %lr, dampening = 0.0 : f64, nesterov = false, maximize = false, is_first_step = false,
      grad_scale = none, found_inf = none) node 0
    : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: %[[FIRST:.*]]:2 = linalg.generic
  // CHECK: return %{{.*}}, %[[FIRST]]#0, %[[FIRST]]#1
  %s:3 = ltc.op "aten::_fused_sgd"(self = [%p], grads = [%g], momentum_buffer_list = [%b], weight_decay = 0.0 : f64,
      momentum = 0.9 : f64, lr = 0.1 : f64, dampening = 0.1 : f64, nesterov = false, maximize = false, is_first_step = true,
      grad_scale = none, found_inf = none) node 1
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r#0, %s#0, %s#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @other_names
func.func @other_names(%p: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %step: tensor<f32>, %lr: tensor<f32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-4: linalg.generic
  %r:4 = ltc.op "aten::_fused_adam"(self = [%p], grads = [%g], exp_avgs = [%m], exp_avg_sqs = [%v],
      max_exp_avg_sqs = [], state_steps = [%step], lr = 0.1 : f64, beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.1 : f64,
      eps = 1.0e-8 : f64, amsgrad = false, maximize = false, grad_scale = none, found_inf = none) node 0
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %s:4 = ltc.op "aten::_fused_adamw.tensor_lr"(self = [%p], grads = [%g], exp_avgs = [%m], exp_avg_sqs = [%v],
      max_exp_avg_sqs = [], state_steps = [%step], lr = %lr, beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.1 : f64,
      eps = 1.0e-8 : f64, amsgrad = false, maximize = false, grad_scale = none, found_inf = none) node 0
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r#0, %s#0 : tensor<4xf32>, tensor<4xf32>
}
