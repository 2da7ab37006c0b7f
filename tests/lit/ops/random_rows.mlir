// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @native_dropout_backward(
func.func @native_dropout_backward(%a0: tensor<5xf32>, %a1: tensor<5xi8>, %a2: f64) -> (tensor<5xf32>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.truncf
  // CHECK: arith.mulf
  // CHECK: arith.select
  %r = ltc.op "aten::native_dropout_backward"(grad_output = %a0, mask = %a1, scale = %a2) node 0
    : (tensor<5xf32>, tensor<5xi8> as bool, f64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @rand(
func.func @rand(%seed: i64) -> (tensor<4x8xf32>) {
  // CHECK: arith.xori
  // CHECK: arith.sitofp
  // CHECK: arith.mulf
  %r = ltc.op "aten::rand"(size = array<i64: 4, 8>, dtype = none, seed = %seed) node 0
    : (i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @rand_like(
func.func @rand_like(%seed: i64, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  // CHECK: arith.xori
  // CHECK: arith.sitofp
  // CHECK: arith.mulf
  %r = ltc.op "aten::rand_like"(self = %x, dtype = none, seed = %seed) node 0
    : (tensor<4x8xf32>, i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @randn(
func.func @randn(%seed: i64) -> (tensor<4x8xf32>) {
  // CHECK: math.log
  // CHECK: math.sqrt
  // CHECK: math.cos
  %r = ltc.op "aten::randn"(size = array<i64: 4, 8>, dtype = none, seed = %seed) node 0
    : (i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @randn_like(
func.func @randn_like(%seed: i64, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  // CHECK: math.log
  // CHECK: math.sqrt
  // CHECK: math.cos
  %r = ltc.op "aten::randn_like"(self = %x, dtype = none, seed = %seed) node 0
    : (tensor<4x8xf32>, i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @normal_functional(
func.func @normal_functional(%seed: i64, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
  // CHECK: math.log
  // CHECK: math.sqrt
  // CHECK: math.cos
  %r = ltc.op "aten::normal_functional"(self = %x, mean = 0.0 : f64, std = 1.0 : f64, seed = %seed) node 0
    : (tensor<4x8xf32>, i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @exponential(
func.func @exponential(%x: tensor<4x8xf32>, %seed: i64) -> (tensor<4x8xf32>) {
  // CHECK: math.log
  // CHECK: arith.negf
  %r = ltc.op "aten::exponential"(self = %x, lambd = 1.0 : f64, seed = %seed) node 0
    : (tensor<4x8xf32>, i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @bernoulli(
func.func @bernoulli(%x: tensor<4x8xf32>, %seed: i64) -> (tensor<4x8xf32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check
  // CHECK: arith.cmpf olt
  // CHECK: arith.uitofp
  %r = ltc.op "aten::bernoulli"(self = %x, seed = %seed) node 0
    : (tensor<4x8xf32>, i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @bernoulli_p(
func.func @bernoulli_p(%x: tensor<4x8xf32>, %p: f64, %seed: i64) -> (tensor<4x8xf32>) {
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  // CHECK: arith.cmpf olt
  %r = ltc.op "aten::bernoulli.p"(self = %x, p = %p, seed = %seed) node 0
    : (tensor<4x8xf32>, f64, i64) -> (tensor<4x8xf32>)
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @native_dropout(
func.func @native_dropout(%x: tensor<4x8xf32>, %p: f64, %seed: i64) -> (tensor<4x8xf32>, tensor<4x8xi8>) {
  // CHECK: arith.cmpf oge
  // CHECK: arith.divf
  // CHECK: arith.select
  // CHECK: arith.extui
  %r:2 = ltc.op "aten::native_dropout"(input = %x, p = %p, train = true, seed = %seed) node 0
    : (tensor<4x8xf32>, f64, i64) -> (tensor<4x8xf32>, tensor<4x8xi8> as bool)
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<4x8xi8>
}
