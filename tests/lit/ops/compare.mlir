// RUN: ltc-opt %s --ltc-lower --split-input-file | FileCheck %s

// An integer tensor and a float are compared as floats.
// CHECK-LABEL: func.func @eq
func.func @eq(%x: tensor<4xi64>) -> tensor<4xi8> {
  // CHECK: %[[X:.*]] = arith.sitofp %{{.*}} : i64 to f32
  // CHECK: %[[C:.*]] = arith.cmpf oeq, %[[X]], %{{.*}} : f32
  // CHECK: arith.extui %[[C]] : i1 to i8
  %0 = ltc.op "aten::eq.Scalar"(self = %x, other = 1.5 : f64) node 0 : (tensor<4xi64>) -> (tensor<4xi8> as bool)
  return %0 : tensor<4xi8>
}

// -----

// CHECK-LABEL: func.func @lt_u8
func.func @lt_u8(%x: tensor<4xi8>, %y: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  // CHECK: arith.cmpi ult
  // CHECK: arith.cmpi slt
  %0 = ltc.op "aten::lt.Tensor"(self = %x, other = %y) node 0 : (tensor<4xi8> as u8, tensor<4xi8> as u8) -> (tensor<4xi8> as bool)
  %1 = ltc.op "aten::lt.Tensor"(self = %x, other = %y) node 0 : (tensor<4xi8>, tensor<4xi8>) -> (tensor<4xi8> as bool)
  return %0, %1 : tensor<4xi8>, tensor<4xi8>
}

// -----

// CHECK-LABEL: func.func @where
func.func @where(%c: tensor<4xi8>, %x: tensor<4xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  // CHECK: %[[C:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i8
  // CHECK: arith.select %[[C]], %{{.*}}, %{{.*}} : f32
  %0 = ltc.op "aten::where.self"(condition = %c, self = %x, other = %y) node 0
    : (tensor<4xi8> as bool, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A shift by too much, or by less than nothing, moves all bits out; one by a
// number that fits is not guarded.

// CHECK-LABEL: func.func @shifts
func.func @shifts(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  // CHECK: %[[SHIFTED:.*]] = arith.shli
  // CHECK: %[[SHORT:.*]] = arith.cmpi ult, %{{.*}}, %c32_i32
  // CHECK: arith.select %[[SHORT]], %[[SHIFTED]], %c0_i32
  %0 = ltc.op "aten::__lshift__.Tensor"(self = %x, other = %y) node 0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: %[[BY:.*]] = arith.select %{{.*}}, %{{.*}}, %c31_i32
  // CHECK: arith.shrsi %{{.*}}, %[[BY]]
  %1 = ltc.op "aten::__rshift__.Tensor"(self = %x, other = %y) node 0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NOT: arith.select
  // CHECK: arith.shrsi %{{.*}}, %{{.*}} : i32
  %2 = ltc.op "aten::__rshift__.Scalar"(self = %x, other = 4 : i64) node 0 : (tensor<4xi32>) -> tensor<4xi32>
  return %0, %1, %2 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
