// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @__lshift___Scalar(
func.func @__lshift___Scalar(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shli
  %r = ltc.op "aten::__lshift__.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @__lshift___Tensor(
func.func @__lshift___Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shli
  %r = ltc.op "aten::__lshift__.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @__rshift___Scalar(
func.func @__rshift___Scalar(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shrsi
  %r = ltc.op "aten::__rshift__.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @__rshift___Tensor(
func.func @__rshift___Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shrsi
  %r = ltc.op "aten::__rshift__.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_and_Scalar(
func.func @bitwise_and_Scalar(%a0: tensor<2xi8>, %a1: tensor<2xi8>) -> (tensor<2xi8>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.andi
  %r = ltc.op "aten::bitwise_and.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<2xi8> as bool, tensor<2xi8> as bool) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @bitwise_and_Scalar_Tensor(
func.func @bitwise_and_Scalar_Tensor(%a0: tensor<2xi8>, %a1: tensor<2xi8>) -> (tensor<2xi8>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.andi
  %r = ltc.op "aten::bitwise_and.Scalar_Tensor"(self = %a0, other = %a1) node 0
    : (tensor<2xi8> as bool, tensor<2xi8> as bool) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @bitwise_and_Tensor(
func.func @bitwise_and_Tensor(%a0: tensor<2xi8>, %a1: tensor<2xi8>) -> (tensor<2xi8>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.andi
  %r = ltc.op "aten::bitwise_and.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<2xi8> as bool, tensor<2xi8> as bool) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @bitwise_left_shift_Tensor(
func.func @bitwise_left_shift_Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shli
  %r = ltc.op "aten::bitwise_left_shift.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_left_shift_Tensor_Scalar(
func.func @bitwise_left_shift_Tensor_Scalar(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shli
  %r = ltc.op "aten::bitwise_left_shift.Tensor_Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_not(
func.func @bitwise_not(%a0: tensor<20xi64>) -> (tensor<20xi64>) {
  // CHECK: arith.xori
  %r = ltc.op "aten::bitwise_not"(self = %a0) node 0
    : (tensor<20xi64>) -> (tensor<20xi64>)
  return %r : tensor<20xi64>
}

// CHECK-LABEL: func.func @bitwise_or_Scalar(
func.func @bitwise_or_Scalar(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.ori
  %r = ltc.op "aten::bitwise_or.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_or_Scalar_Tensor(
func.func @bitwise_or_Scalar_Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.ori
  %r = ltc.op "aten::bitwise_or.Scalar_Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_or_Tensor(
func.func @bitwise_or_Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.ori
  %r = ltc.op "aten::bitwise_or.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_right_shift_Tensor(
func.func @bitwise_right_shift_Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shrsi
  %r = ltc.op "aten::bitwise_right_shift.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_right_shift_Tensor_Scalar(
func.func @bitwise_right_shift_Tensor_Scalar(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.shrsi
  %r = ltc.op "aten::bitwise_right_shift.Tensor_Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_xor_Scalar(
func.func @bitwise_xor_Scalar(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.xori
  %r = ltc.op "aten::bitwise_xor.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_xor_Scalar_Tensor(
func.func @bitwise_xor_Scalar_Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.xori
  %r = ltc.op "aten::bitwise_xor.Scalar_Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @bitwise_xor_Tensor(
func.func @bitwise_xor_Tensor(%a0: tensor<5xi64>, %a1: tensor<i64>) -> (tensor<5xi64>) {
  // CHECK: arith.xori
  %r = ltc.op "aten::bitwise_xor.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xi64>, tensor<i64>) -> (tensor<5xi64>)
  return %r : tensor<5xi64>
}

// CHECK-LABEL: func.func @eq_Tensor(
func.func @eq_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xi8>) {
  // CHECK: arith.cmpf oeq
  %r = ltc.op "aten::eq.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @ge_Scalar(
func.func @ge_Scalar(%a0: tensor<5xf32>, %a1: i64) -> (tensor<5xi8>) {
  // CHECK: arith.sitofp
  // CHECK: arith.cmpf oge
  %r = ltc.op "aten::ge.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, i64) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @ge_Tensor(
func.func @ge_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xi8>) {
  // CHECK: arith.cmpf oge
  %r = ltc.op "aten::ge.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @gt_Scalar(
func.func @gt_Scalar(%a0: tensor<5xf32>, %a1: f64) -> (tensor<5xi8>) {
  // CHECK: arith.truncf
  // CHECK: arith.cmpf ogt
  %r = ltc.op "aten::gt.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, f64) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @gt_Tensor(
func.func @gt_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xi8>) {
  // CHECK: arith.cmpf ogt
  %r = ltc.op "aten::gt.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @isfinite(
func.func @isfinite(%a0: tensor<2xf32>) -> (tensor<2xi8>) {
  // CHECK: math.absf
  // CHECK: arith.cmpf olt
  %r = ltc.op "aten::isfinite"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @isinf(
func.func @isinf(%a0: tensor<20x20xf32>) -> (tensor<20x20xi8>) {
  // CHECK: math.absf
  // CHECK: arith.cmpf oeq
  %r = ltc.op "aten::isinf"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xi8> as bool)
  return %r : tensor<20x20xi8>
}

// CHECK-LABEL: func.func @isnan(
func.func @isnan(%a0: tensor<2xf32>) -> (tensor<2xi8>) {
  // CHECK: arith.cmpf uno
  %r = ltc.op "aten::isnan"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @isneginf(
func.func @isneginf(%a0: tensor<20x20xf32>) -> (tensor<20x20xi8>) {
  // CHECK: math.absf
  // CHECK: arith.cmpf oeq
  // CHECK: arith.cmpf olt
  // CHECK: arith.andi
  %r = ltc.op "aten::isneginf"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xi8> as bool)
  return %r : tensor<20x20xi8>
}

// CHECK-LABEL: func.func @isposinf(
func.func @isposinf(%a0: tensor<20x20xf32>) -> (tensor<20x20xi8>) {
  // CHECK: math.absf
  // CHECK: arith.cmpf oeq
  // CHECK: arith.cmpf ogt
  // CHECK: arith.andi
  %r = ltc.op "aten::isposinf"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xi8> as bool)
  return %r : tensor<20x20xi8>
}

// CHECK-LABEL: func.func @le_Scalar(
func.func @le_Scalar(%a0: tensor<2xf32>, %a1: f64) -> (tensor<2xi8>) {
  // CHECK: arith.truncf
  // CHECK: arith.cmpf ole
  %r = ltc.op "aten::le.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<2xf32>, f64) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @le_Tensor(
func.func @le_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xi8>) {
  // CHECK: arith.cmpf ole
  %r = ltc.op "aten::le.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @logical_and(
func.func @logical_and(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xi8>) {
  // CHECK: arith.cmpf une
  // CHECK: arith.andi
  %r = ltc.op "aten::logical_and"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @logical_not(
func.func @logical_not(%a0: tensor<20xf32>) -> (tensor<20xi8>) {
  // CHECK: arith.cmpf une
  // CHECK: arith.xori
  %r = ltc.op "aten::logical_not"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xi8> as bool)
  return %r : tensor<20xi8>
}

// CHECK-LABEL: func.func @logical_or(
func.func @logical_or(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xi8>) {
  // CHECK: arith.cmpf une
  // CHECK: arith.ori
  %r = ltc.op "aten::logical_or"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @logical_xor(
func.func @logical_xor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xi8>) {
  // CHECK: arith.cmpf une
  // CHECK: arith.xori
  %r = ltc.op "aten::logical_xor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @lt_Scalar(
func.func @lt_Scalar(%a0: tensor<2xf32>, %a1: i64) -> (tensor<2xi8>) {
  // CHECK: arith.sitofp
  // CHECK: arith.cmpf olt
  %r = ltc.op "aten::lt.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<2xf32>, i64) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @masked_fill_Scalar(
func.func @masked_fill_Scalar(%a0: tensor<2xf32>, %a1: tensor<2xi8>, %a2: i64) -> (tensor<2xf32>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.sitofp
  // CHECK: arith.select
  %r = ltc.op "aten::masked_fill.Scalar"(self = %a0, mask = %a1, value = %a2) node 0
    : (tensor<2xf32>, tensor<2xi8> as bool, i64) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @masked_fill_Tensor(
func.func @masked_fill_Tensor(%a0: tensor<5x5xf32>, %a1: tensor<5x5xi8>, %a2: tensor<f32>) -> (tensor<5x5xf32>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.select
  %r = ltc.op "aten::masked_fill.Tensor"(self = %a0, mask = %a1, value = %a2) node 0
    : (tensor<5x5xf32>, tensor<5x5xi8> as bool, tensor<f32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// The kernel raises of a value that does not fit.
// CHECK-LABEL: func.func @masked_fill_narrowing(
func.func @masked_fill_narrowing(%a0: tensor<5xf32>, %a1: tensor<5xi8>, %a2: tensor<f64>) -> (tensor<5xf32>) {
  // CHECK: ltc.call "aten::masked_fill.Tensor"
  %r = ltc.op "aten::masked_fill.Tensor"(self = %a0, mask = %a1, value = %a2) node 0
    : (tensor<5xf32>, tensor<5xi8> as bool, tensor<f64>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @masked_fill_widening(
func.func @masked_fill_widening(%a0: tensor<5xf16>, %a1: tensor<5xi8>, %a2: tensor<i8>) -> (tensor<5xf16>) {
  // CHECK: arith.select
  %r = ltc.op "aten::masked_fill.Tensor"(self = %a0, mask = %a1, value = %a2) node 0
    : (tensor<5xf16>, tensor<5xi8> as bool, tensor<i8>) -> (tensor<5xf16>)
  return %r : tensor<5xf16>
}

// CHECK-LABEL: func.func @ne_Scalar(
func.func @ne_Scalar(%a0: tensor<5xf32>, %a1: f64) -> (tensor<5xi8>) {
  // CHECK: arith.truncf
  // CHECK: arith.cmpf une
  %r = ltc.op "aten::ne.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, f64) -> (tensor<5xi8> as bool)
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @ne_Tensor(
func.func @ne_Tensor(%a0: tensor<2xf32>, %a1: tensor<2xf32>) -> (tensor<2xi8>) {
  // CHECK: arith.cmpf une
  %r = ltc.op "aten::ne.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xi8> as bool)
  return %r : tensor<2xi8>
}

// CHECK-LABEL: func.func @signbit(
func.func @signbit(%a0: tensor<20x20xf32>) -> (tensor<20x20xi8>) {
  // CHECK: math.copysign
  // CHECK: arith.cmpf olt
  %r = ltc.op "aten::signbit"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xi8> as bool)
  return %r : tensor<20x20xi8>
}

// CHECK-LABEL: func.func @where_Scalar(
func.func @where_Scalar(%a0: tensor<5xi8>, %a1: tensor<5xf32>, %a2: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.select
  %r = ltc.op "aten::where.Scalar"(condition = %a0, self = %a1, other = %a2) node 0
    : (tensor<5xi8> as bool, tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @where_ScalarOther(
func.func @where_ScalarOther(%a0: tensor<5xi8>, %a1: tensor<5xf32>, %a2: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.select
  %r = ltc.op "aten::where.ScalarOther"(condition = %a0, self = %a1, other = %a2) node 0
    : (tensor<5xi8> as bool, tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @where_ScalarSelf(
func.func @where_ScalarSelf(%a0: tensor<5xi8>, %a1: tensor<5xf32>, %a2: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpi ne
  // CHECK: arith.select
  %r = ltc.op "aten::where.ScalarSelf"(condition = %a0, self = %a1, other = %a2) node 0
    : (tensor<5xi8> as bool, tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}
