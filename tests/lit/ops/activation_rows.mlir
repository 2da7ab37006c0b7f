// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @_log_softmax(
func.func @_log_softmax(%a0: tensor<4xf32>) -> (tensor<4xf32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.exp
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.log
  %r = ltc.op "aten::_log_softmax"(self = %a0, dim = 0 : i64, half_to_float = false) node 0
    : (tensor<4xf32>) -> (tensor<4xf32>)
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @_log_softmax_backward_data(
func.func @_log_softmax_backward_data(%a0: tensor<4xf32>, %a1: tensor<4xf32>) -> (tensor<4xf32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  // CHECK: math.exp
  // CHECK: arith.mulf
  // CHECK: arith.subf
  %r = ltc.op "aten::_log_softmax_backward_data"(grad_output = %a0, output = %a1, dim = 0 : i64, input_dtype = #ltc.dtype<f32>) node 0
    : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @_prelu_kernel(
func.func @_prelu_kernel(%a0: tensor<5xf32>, %a1: tensor<1xf32>) -> (tensor<5xf32>) {
  // CHECK: tensor.collapse_shape
  // CHECK: arith.cmpf ogt
  // CHECK: arith.mulf
  // CHECK: arith.select
  %r = ltc.op "aten::_prelu_kernel"(self = %a0, weight = %a1) node 0
    : (tensor<5xf32>, tensor<1xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @_prelu_kernel_backward(
func.func @_prelu_kernel_backward(%a0: tensor<5xf32>, %a1: tensor<5xf32>, %a2: tensor<1xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  // CHECK: tensor.collapse_shape
  // CHECK: arith.cmpf ogt
  // CHECK: arith.mulf
  // CHECK: arith.select
  // CHECK: arith.mulf
  // CHECK: arith.select
  %r:2 = ltc.op "aten::_prelu_kernel_backward"(grad_output = %a0, self = %a1, weight = %a2) node 0
    : (tensor<5xf32>, tensor<5xf32>, tensor<1xf32>) -> (tensor<5xf32>, tensor<5xf32>)
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}

// CHECK-LABEL: func.func @_safe_softmax(
func.func @_safe_softmax(%a0: tensor<10xf32>) -> (tensor<10xf32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.absf
  // CHECK: math.exp
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::_safe_softmax"(self = %a0, dim = 0 : i64, dtype = none) node 0
    : (tensor<10xf32>) -> (tensor<10xf32>)
  return %r : tensor<10xf32>
}

// CHECK-LABEL: func.func @_softmax_backward_data(
func.func @_softmax_backward_data(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.mulf
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  // CHECK: arith.subf
  // CHECK: arith.mulf
  %r = ltc.op "aten::_softmax_backward_data"(grad_output = %a0, output = %a1, dim = 0 : i64, input_dtype = #ltc.dtype<f32>) node 0
    : (tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @celu(
func.func @celu(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.expm1
  // CHECK: arith.cmpf olt
  // CHECK: arith.select
  %r = ltc.op "aten::celu"(self = %a0, alpha = 1.0 : f64) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @elu(
func.func @elu(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.cmpf olt
  // CHECK: math.expm1
  // CHECK: arith.select
  %r = ltc.op "aten::elu"(self = %a0, alpha = 1.0 : f64, scale = 1 : i64, input_scale = 1 : i64) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @elu_backward(
func.func @elu_backward(%a0: tensor<20xf32>, %a1: f64, %a2: i64, %a3: i64, %a4: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.exp
  %r = ltc.op "aten::elu_backward"(grad_output = %a0, alpha = %a1, scale = %a2, input_scale = %a3, is_result = false, self_or_result = %a4) node 0
    : (tensor<20xf32>, f64, i64, i64, tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @gelu_backward(
func.func @gelu_backward(%a0: tensor<10x10xf32>, %a1: tensor<10x10xf32>) -> (tensor<10x10xf32>) {
  // CHECK-NOT: math.erf
  // CHECK: math.exp
  // CHECK-NOT: math.{{erf|exp}}
  %r = ltc.op "aten::gelu_backward"(grad_output = %a0, self = %a1, approximate = "none") node 0
    : (tensor<10x10xf32>, tensor<10x10xf32>) -> (tensor<10x10xf32>)
  return %r : tensor<10x10xf32>
}

// CHECK-LABEL: func.func @glu(
func.func @glu(%a0: tensor<8x8xf32>) -> (tensor<4x8xf32>) {
  // CHECK: tensor.extract_slice
  // CHECK: arith.negf
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK: arith.divf
  // CHECK: arith.mulf
  %r = ltc.op "aten::glu"(self = %a0, dim = 0 : i64) node 0
    : (tensor<8x8xf32>) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @glu_backward(
func.func @glu_backward(%a0: tensor<4x8xf32>, %a1: tensor<8x8xf32>) -> (tensor<8x8xf32>) {
  // CHECK: tensor.extract_slice
  // CHECK: math.exp
  // CHECK: tensor.insert_slice
  %r = ltc.op "aten::glu_backward"(grad_output = %a0, self = %a1, dim = 0 : i64) node 0
    : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @hardshrink(
func.func @hardshrink(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.absf
  // CHECK: arith.cmpf ole
  // CHECK: arith.select
  %r = ltc.op "aten::hardshrink"(self = %a0, lambd = 0.5 : f64) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @hardshrink_backward(
func.func @hardshrink_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>, %a2: f64) -> (tensor<20xf32>) {
  // CHECK: arith.truncf
  // CHECK: math.absf
  // CHECK: arith.cmpf ole
  // CHECK: arith.select
  %r = ltc.op "aten::hardshrink_backward"(grad_out = %a0, self = %a1, lambd = %a2) node 0
    : (tensor<20xf32>, tensor<20xf32>, f64) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @hardsigmoid(
func.func @hardsigmoid(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.addf
  // CHECK: arith.maximumf
  // CHECK: arith.minimumf
  // CHECK: arith.divf
  %r = ltc.op "aten::hardsigmoid"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @hardsigmoid_backward(
func.func @hardsigmoid_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.cmpf ogt
  // CHECK: arith.cmpf olt
  // CHECK: arith.andi
  // CHECK: arith.mulf
  // CHECK: arith.select
  %r = ltc.op "aten::hardsigmoid_backward"(grad_output = %a0, self = %a1) node 0
    : (tensor<20xf32>, tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @hardswish(
func.func @hardswish(%a0: tensor<10x10xf32>) -> (tensor<10x10xf32>) {
  // CHECK: arith.addf
  // CHECK: arith.maximumf
  // CHECK: arith.minimumf
  // CHECK: arith.mulf
  // CHECK: arith.divf
  %r = ltc.op "aten::hardswish"(self = %a0) node 0
    : (tensor<10x10xf32>) -> (tensor<10x10xf32>)
  return %r : tensor<10x10xf32>
}

// CHECK-LABEL: func.func @hardswish_backward(
func.func @hardswish_backward(%a0: tensor<10x10xf32>, %a1: tensor<10x10xf32>) -> (tensor<10x10xf32>) {
  // CHECK: arith.divf
  // CHECK: arith.addf
  // CHECK: arith.mulf
  // CHECK: arith.cmpf ole
  // CHECK: arith.cmpf olt
  // CHECK: arith.select
  %r = ltc.op "aten::hardswish_backward"(grad_output = %a0, self = %a1) node 0
    : (tensor<10x10xf32>, tensor<10x10xf32>) -> (tensor<10x10xf32>)
  return %r : tensor<10x10xf32>
}

// CHECK-LABEL: func.func @hardtanh_backward(
func.func @hardtanh_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>, %a2: f64, %a3: f64) -> (tensor<20xf32>) {
  // CHECK: arith.truncf
  // CHECK: arith.cmpf ole
  // CHECK: arith.cmpf oge
  // CHECK: arith.ori
  // CHECK: arith.select
  %r = ltc.op "aten::hardtanh_backward"(grad_output = %a0, self = %a1, min_val = %a2, max_val = %a3) node 0
    : (tensor<20xf32>, tensor<20xf32>, f64, f64) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @leaky_relu(
func.func @leaky_relu(%a0: tensor<10x10xf32>) -> (tensor<10x10xf32>) {
  // CHECK: arith.cmpf ogt
  // CHECK: arith.mulf
  // CHECK: arith.select
  %r = ltc.op "aten::leaky_relu"(self = %a0, negative_slope = 0.01 : f64) node 0
    : (tensor<10x10xf32>) -> (tensor<10x10xf32>)
  return %r : tensor<10x10xf32>
}

// CHECK-LABEL: func.func @leaky_relu_backward(
func.func @leaky_relu_backward(%a0: tensor<10x10xf32>, %a1: tensor<10x10xf32>, %a2: f64) -> (tensor<10x10xf32>) {
  // CHECK: arith.truncf
  // CHECK: arith.cmpf ogt
  // CHECK: arith.mulf
  // CHECK: arith.select
  %r = ltc.op "aten::leaky_relu_backward"(grad_output = %a0, self = %a1, negative_slope = %a2, self_is_result = false) node 0
    : (tensor<10x10xf32>, tensor<10x10xf32>, f64) -> (tensor<10x10xf32>)
  return %r : tensor<10x10xf32>
}

// CHECK-LABEL: func.func @log_sigmoid_backward(
func.func @log_sigmoid_backward(%a0: tensor<5xf32>, %a1: tensor<5xf32>, %a2: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpf olt
  // CHECK: arith.select
  // CHECK: arith.addf
  // CHECK: arith.divf
  // CHECK: arith.mulf
  // CHECK: arith.subf
  %r = ltc.op "aten::log_sigmoid_backward"(grad_output = %a0, self = %a1, buffer = %a2) node 0
    : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @log_sigmoid_forward(
func.func @log_sigmoid_forward(%a0: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  // CHECK: math.absf
  // CHECK: arith.negf
  // CHECK: math.exp
  // CHECK: arith.minimumf
  // CHECK: math.log1p
  // CHECK: arith.subf
  %r:2 = ltc.op "aten::log_sigmoid_forward"(self = %a0) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>)
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}

// CHECK-LABEL: func.func @mish(
func.func @mish(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.exp
  // CHECK: math.log1p
  // CHECK: math.tanh
  // CHECK: arith.mulf
  %r = ltc.op "aten::mish"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @mish_backward(
func.func @mish_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.exp
  // CHECK: math.log1p
  // CHECK: math.tanh
  // CHECK: math.exp
  %r = ltc.op "aten::mish_backward"(grad_output = %a0, self = %a1) node 0
    : (tensor<20xf32>, tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @sigmoid_backward(
func.func @sigmoid_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.subf
  // CHECK: arith.mulf
  %r = ltc.op "aten::sigmoid_backward"(grad_output = %a0, output = %a1) node 0
    : (tensor<20xf32>, tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @silu_backward(
func.func @silu_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.exp
  %r = ltc.op "aten::silu_backward"(grad_output = %a0, self = %a1) node 0
    : (tensor<20xf32>, tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @softplus(
func.func @softplus(%a0: tensor<20xf32>, %a1: i64, %a2: f64) -> (tensor<20xf32>) {
  // CHECK: math.exp
  // CHECK: math.log1p
  %r = ltc.op "aten::softplus"(self = %a0, beta = %a1, threshold = %a2) node 0
    : (tensor<20xf32>, i64, f64) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @softplus_backward(
func.func @softplus_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>, %a2: i64, %a3: f64) -> (tensor<20xf32>) {
  // CHECK: math.exp
  %r = ltc.op "aten::softplus_backward"(grad_output = %a0, self = %a1, beta = %a2, threshold = %a3) node 0
    : (tensor<20xf32>, tensor<20xf32>, i64, f64) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @softshrink(
func.func @softshrink(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.mulf
  // CHECK: arith.cmpf olt
  // CHECK: arith.addf
  // CHECK: arith.select
  // CHECK: arith.cmpf ogt
  // CHECK: arith.subf
  %r = ltc.op "aten::softshrink"(self = %a0, lambd = 0.5 : f64) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @softshrink_backward(
func.func @softshrink_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>, %a2: f64) -> (tensor<20xf32>) {
  // CHECK: arith.truncf
  // CHECK: math.absf
  // CHECK: arith.cmpf ole
  // CHECK: arith.select
  %r = ltc.op "aten::softshrink_backward"(grad_output = %a0, self = %a1, lambd = %a2) node 0
    : (tensor<20xf32>, tensor<20xf32>, f64) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @tanh_backward(
func.func @tanh_backward(%a0: tensor<20xf32>, %a1: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.mulf
  // CHECK: arith.subf
  // CHECK: arith.mulf
  %r = ltc.op "aten::tanh_backward"(grad_output = %a0, output = %a1) node 0
    : (tensor<20xf32>, tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @threshold(
func.func @threshold(%a0: tensor<5xf32>, %a1: f64, %a2: f64) -> (tensor<5xf32>) {
  // CHECK: arith.truncf
  // CHECK: arith.cmpf ole
  // CHECK: arith.select
  %r = ltc.op "aten::threshold"(self = %a0, threshold = %a1, value = %a2) node 0
    : (tensor<5xf32>, f64, f64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}
