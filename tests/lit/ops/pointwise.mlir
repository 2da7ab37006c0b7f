// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// Operands broadcast by their maps; a host scalar is converted in the body.

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$COL:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @add
// CHECK-SAME: (%[[A:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<8x1xf32>, %[[S:.*]]: f64)
func.func @add(%a: tensor<8x4xf32>, %b: tensor<8x1xf32>, %s: f64) -> tensor<8x4xf32> {
  // CHECK: %[[C:.*]] = tensor.collapse_shape %[[B]] {{\[}}[0, 1]] : tensor<8x1xf32> into tensor<8xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$COL]], #[[$ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[A]], %[[C]]
  // CHECK: %[[T:.*]] = arith.truncf %[[S]] : f64 to f32
  // CHECK: %[[M:.*]] = arith.mulf %{{.*}}, %[[T]] fastmath<contract> : f32
  // CHECK: arith.addf %[[M]], %{{.*}} fastmath<contract> : f32
  %0 = ltc.op "aten::add.Tensor"(self = %a, other = %b, alpha = %s) node 0
    : (tensor<8x4xf32>, tensor<8x1xf32>, f64) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// bf16 is computed in f32.
// CHECK-LABEL: func.func @mul_bf16
func.func @mul_bf16(%a: tensor<4xbf16>, %b: tensor<4xf32>) -> tensor<4xbf16> {
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.mulf %{{.*}} : f32
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %0 = ltc.op "aten::mul.Tensor"(self = %a, other = 2.5 : f64) node 0 : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// bool + bool is or; bool times float converts the bool.
// CHECK-LABEL: func.func @bool
func.func @bool(%a: tensor<4xi8>, %x: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xf32>) {
  // CHECK: arith.ori
  %0 = ltc.op "aten::add.Tensor"(self = %a, other = %a, alpha = 1 : i64) node 0
    : (tensor<4xi8> as bool, tensor<4xi8> as bool) -> (tensor<4xi8> as bool)
  // CHECK: arith.cmpi ne
  // CHECK: arith.uitofp %{{.*}} : i1 to f32
  // CHECK: arith.mulf
  %1 = ltc.op "aten::mul.Tensor"(self = %a, other = %x) node 0
    : (tensor<4xi8> as bool, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xi8>, tensor<4xf32>
}

// -----

// Integers divide as floats; u8 is unsigned.
// CHECK-LABEL: func.func @div_u8
func.func @div_u8(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xf32> {
  // CHECK: arith.uitofp %{{.*}} : i8 to f32
  // CHECK: arith.sitofp %{{.*}} : i8 to f32
  // CHECK: arith.divf
  %0 = ltc.op "aten::div.Tensor"(self = %a, other = %b) node 0
    : (tensor<4xi8> as u8, tensor<4xi8>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @casts
func.func @casts(%a: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xi8>) {
  // CHECK: %[[FITS:.*]] = arith.cmpf olt
  // CHECK: %[[I:.*]] = arith.fptosi %{{.*}} : f32 to i32
  // CHECK: %[[KEPT:.*]] = arith.select %[[FITS]], %[[I]], %c-2147483648_i32
  // CHECK: arith.trunci %[[KEPT]] : i32 to i8
  %0 = ltc.op "aten::_to_copy"(self = %a, dtype = #ltc.dtype<u8>) node 0 : (tensor<4xf32>) -> (tensor<4xi8> as u8)
  // CHECK: arith.cmpf une, %{{.*}}, %{{.*}} : f32
  %1 = ltc.op "aten::_to_copy"(self = %a, dtype = #ltc.dtype<bool>) node 0 : (tensor<4xf32>) -> (tensor<4xi8> as bool)
  return %0, %1 : tensor<4xi8>, tensor<4xi8>
}

// -----

// A symbolic size is its formula.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%a: tensor<?x4xf32> {ltc.sizes = [#ltc.size<"2*s0">, 4]}, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: %[[D:.*]] = ltc.size "2*s0"
  // CHECK: tensor.empty(%[[D]]) : tensor<?x4xf32>
  // CHECK: arith.subf
  %0 = ltc.op "aten::sub.Tensor"(self = %a, other = %b, alpha = 1 : i64) node 0
    {ltc.sizes = [[#ltc.size<"2*s0">, 4]]} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// An integer divisor that is data is checked once; so is a constant 0.
// CHECK-LABEL: func.func @divisor
func.func @divisor(%a: tensor<4xi32>, %b: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  // CHECK: ^bb0(%{{.*}}: i32, %[[B:.*]]: i32, %{{.*}}: i32):
  // CHECK-NEXT: %[[SAFE:.*]] = ltc.check_divisor %[[B]] {site = 7 : i64} : i32
  // CHECK-NOT: check_divisor
  // CHECK: linalg.yield
  %0 = ltc.op "aten::floor_divide"(self = %a, other = %b) node 7
    : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: ltc.check_divisor %c0_i32 {site = 8 : i64} : i32
  %1 = ltc.op "aten::fmod.Scalar"(self = %a, other = 0 : i64) node 8
    : (tensor<4xi32>) -> tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}

// -----

// Nothing is checked where the divisor is a constant, unsigned or not an integer.
// CHECK-LABEL: func.func @constant_divisor
func.func @constant_divisor(%a: tensor<4xi32>, %u: tensor<4xi8>, %x: tensor<4xf32>)
    -> (tensor<4xi32>, tensor<4xi8>, tensor<4xf32>) {
  // CHECK-NOT: check_divisor
  // CHECK: arith.divsi %{{.*}}, %c3_i32
  %0 = ltc.op "aten::floor_divide"(self = %a, other = 3 : i64) node 0
    : (tensor<4xi32>) -> tensor<4xi32>
  // CHECK: arith.remui %{{.*}}, %c-1_i8
  %1 = ltc.op "aten::remainder.Scalar"(self = %u, other = 255 : i64) node 1
    : (tensor<4xi8> as u8) -> (tensor<4xi8> as u8)
  // CHECK: arith.remf
  %2 = ltc.op "aten::remainder.Tensor"(self = %x, other = %x) node 2
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NOT: check_divisor
  // CHECK: return
  return %0, %1, %2 : tensor<4xi32>, tensor<4xi8>, tensor<4xf32>
}
