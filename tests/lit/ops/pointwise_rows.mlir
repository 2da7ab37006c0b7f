// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row of several operands comes down to.

// CHECK-LABEL: func.func @add_Scalar(
func.func @add_Scalar(%a0: tensor<5xf32>, %a1: i64) -> (tensor<5xf32>) {
  // CHECK: arith.sitofp
  // CHECK: arith.addf
  %r = ltc.op "aten::add.Scalar"(self = %a0, other = %a1, alpha = 1 : i64) node 0
    : (tensor<5xf32>, i64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @addcdiv(
func.func @addcdiv(%a0: tensor<5x5xf32>, %a1: tensor<5x5xf32>, %a2: tensor<5x5xf32>) -> (tensor<5x5xf32>) {
  // CHECK: arith.divf
  // CHECK: arith.addf
  %r = ltc.op "aten::addcdiv"(self = %a0, tensor1 = %a1, tensor2 = %a2, value = 1 : i64) node 0
    : (tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @addcmul(
func.func @addcmul(%a0: tensor<5x5xf32>, %a1: tensor<5x5xf32>, %a2: tensor<5x5xf32>) -> (tensor<5x5xf32>) {
  // CHECK: arith.mulf
  // CHECK: arith.addf
  %r = ltc.op "aten::addcmul"(self = %a0, tensor1 = %a1, tensor2 = %a2, value = 1 : i64) node 0
    : (tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @atan2(
func.func @atan2(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.atan2
  %r = ltc.op "aten::atan2"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @clamp(
func.func @clamp(%a0: tensor<5xf32>, %a1: f64) -> (tensor<5xf32>) {
  // CHECK: arith.truncf
  // CHECK: arith.cmpf olt
  // CHECK: arith.select
  // CHECK: arith.cmpf uno
  // CHECK: arith.select
  %r = ltc.op "aten::clamp"(self = %a0, min = %a1, max = none) node 0
    : (tensor<5xf32>, f64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @clamp_Tensor(
func.func @clamp_Tensor(%a0: tensor<5x10x5xf32>, %a1: tensor<5x10x5xf32>, %a2: tensor<5x10x5xf32>) -> (tensor<5x10x5xf32>) {
  // CHECK: arith.maximumf
  // CHECK: arith.minimumf
  %r = ltc.op "aten::clamp.Tensor"(self = %a0, min = %a1, max = %a2) node 0
    : (tensor<5x10x5xf32>, tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> (tensor<5x10x5xf32>)
  return %r : tensor<5x10x5xf32>
}

// CHECK-LABEL: func.func @clamp_max(
func.func @clamp_max(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpf ogt
  // CHECK: arith.select
  // CHECK: arith.cmpf uno
  // CHECK: arith.select
  %r = ltc.op "aten::clamp_max"(self = %a0, max = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @clamp_max_Tensor(
func.func @clamp_max_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.minimumf
  %r = ltc.op "aten::clamp_max.Tensor"(self = %a0, max = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @clamp_min(
func.func @clamp_min(%a0: tensor<5xf32>, %a1: i64) -> (tensor<5xf32>) {
  // CHECK: arith.sitofp
  // CHECK: arith.cmpf olt
  // CHECK: arith.select
  // CHECK: arith.cmpf uno
  // CHECK: arith.select
  %r = ltc.op "aten::clamp_min"(self = %a0, min = %a1) node 0
    : (tensor<5xf32>, i64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @clamp_min_Tensor(
func.func @clamp_min_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.maximumf
  %r = ltc.op "aten::clamp_min.Tensor"(self = %a0, min = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @copysign_Scalar(
func.func @copysign_Scalar(%a0: tensor<5xf32>, %a1: f64) -> (tensor<5xf32>) {
  // CHECK: arith.truncf
  // CHECK: math.copysign
  %r = ltc.op "aten::copysign.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, f64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @copysign_Tensor(
func.func @copysign_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.copysign
  %r = ltc.op "aten::copysign.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @div_Scalar(
func.func @div_Scalar(%a0: tensor<3xf32>, %a1: f64) -> (tensor<3xf32>) {
  // CHECK: arith.truncf
  // CHECK: arith.divf
  %r = ltc.op "aten::div.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<3xf32>, f64) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @div_Scalar_mode(
func.func @div_Scalar_mode(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.divf
  // CHECK: math.trunc
  %r = ltc.op "aten::div.Scalar_mode"(self = %a0, other = %a1, rounding_mode = "trunc") node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @div_Tensor_mode(
func.func @div_Tensor_mode(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.divf
  // CHECK: math.trunc
  %r = ltc.op "aten::div.Tensor_mode"(self = %a0, other = %a1, rounding_mode = "trunc") node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @floor_divide(
func.func @floor_divide(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.floor
  // CHECK: math.copysign
  %r = ltc.op "aten::floor_divide"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @floor_divide_Scalar(
func.func @floor_divide_Scalar(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.floor
  // CHECK: math.copysign
  %r = ltc.op "aten::floor_divide.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @fmax(
func.func @fmax(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpf ogt
  // CHECK: arith.cmpf uno
  // CHECK: arith.select
  %r = ltc.op "aten::fmax"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @fmin(
func.func @fmin(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpf olt
  // CHECK: arith.cmpf uno
  // CHECK: arith.select
  %r = ltc.op "aten::fmin"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @fmod_Scalar(
func.func @fmod_Scalar(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.remf
  %r = ltc.op "aten::fmod.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @fmod_Tensor(
func.func @fmod_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.remf
  %r = ltc.op "aten::fmod.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @heaviside(
func.func @heaviside(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.cmpf oeq
  // CHECK: arith.cmpf ogt
  // CHECK: arith.uitofp
  // CHECK: arith.select
  %r = ltc.op "aten::heaviside"(self = %a0, values = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @hypot(
func.func @hypot(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.absf
  // CHECK: math.sqrt
  // CHECK: math.absf
  %r = ltc.op "aten::hypot"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @ldexp_Tensor(
func.func @ldexp_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.exp2
  // CHECK: arith.mulf
  %r = ltc.op "aten::ldexp.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @ldexp_of_integers(
func.func @ldexp_of_integers(%a0: tensor<5xf32>, %a1: tensor<i64>) -> (tensor<5xf32>) {
  // CHECK: math.exp2 {{.*}} : f64
  // CHECK: arith.mulf {{.*}} : f64
  // CHECK: arith.truncf {{.*}} : f64 to f32
  %r = ltc.op "aten::ldexp.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<i64>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @lerp_Scalar(
func.func @lerp_Scalar(%a0: tensor<5x5xf32>, %a1: tensor<5x5xf32>, %a2: f64) -> (tensor<5x5xf32>) {
  // CHECK: math.absf
  %r = ltc.op "aten::lerp.Scalar"(self = %a0, end = %a1, weight = %a2) node 0
    : (tensor<5x5xf32>, tensor<5x5xf32>, f64) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @lerp_Tensor(
func.func @lerp_Tensor(%a0: tensor<2xf32>, %a1: tensor<2xf32>, %a2: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.absf
  %r = ltc.op "aten::lerp.Tensor"(self = %a0, end = %a1, weight = %a2) node 0
    : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @logaddexp(
func.func @logaddexp(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.absf
  // CHECK: math.exp
  // CHECK: math.log1p
  // CHECK: math.absf
  %r = ltc.op "aten::logaddexp"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @max_other(
func.func @max_other(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.maximumf
  %r = ltc.op "aten::max.other"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @maximum(
func.func @maximum(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.maximumf
  %r = ltc.op "aten::maximum"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @min_other(
func.func @min_other(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.minimumf
  %r = ltc.op "aten::min.other"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @minimum(
func.func @minimum(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.minimumf
  %r = ltc.op "aten::minimum"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @mul_Scalar(
func.func @mul_Scalar(%a0: tensor<2xf32>, %a1: i64) -> (tensor<2xf32>) {
  // CHECK: arith.sitofp
  // CHECK: arith.mulf
  %r = ltc.op "aten::mul.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<2xf32>, i64) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @pow_Tensor_Tensor(
func.func @pow_Tensor_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.powf
  %r = ltc.op "aten::pow.Tensor_Tensor"(self = %a0, exponent = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @remainder_Scalar(
func.func @remainder_Scalar(%a0: tensor<5x2xi64>, %a1: i64) -> (tensor<5x2xi64>) {
  // CHECK: ltc.check_divisor
  // CHECK: arith.cmpi eq
  // CHECK: arith.select
  // CHECK: arith.remsi
  // CHECK: arith.cmpi ne
  // CHECK: arith.cmpi slt
  %r = ltc.op "aten::remainder.Scalar"(self = %a0, other = %a1) node 0
    : (tensor<5x2xi64>, i64) -> (tensor<5x2xi64>)
  return %r : tensor<5x2xi64>
}

// CHECK-LABEL: func.func @remainder_Scalar_Tensor(
func.func @remainder_Scalar_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.remf
  // CHECK: arith.cmpf une
  // CHECK: arith.cmpf olt
  // CHECK: arith.cmpi ne
  // CHECK: arith.andi
  // CHECK: arith.addf
  %r = ltc.op "aten::remainder.Scalar_Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @remainder_Tensor(
func.func @remainder_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.remf
  // CHECK: arith.cmpf une
  // CHECK: arith.cmpf olt
  // CHECK: arith.cmpi ne
  // CHECK: arith.andi
  // CHECK: arith.addf
  %r = ltc.op "aten::remainder.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @rsub_Scalar(
func.func @rsub_Scalar(%a0: tensor<5xf32>, %a1: i64) -> (tensor<5xf32>) {
  // CHECK: arith.sitofp
  // CHECK: arith.subf
  %r = ltc.op "aten::rsub.Scalar"(self = %a0, other = %a1, alpha = 1 : i64) node 0
    : (tensor<5xf32>, i64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @rsub_Tensor(
func.func @rsub_Tensor(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: arith.subf
  %r = ltc.op "aten::rsub.Tensor"(self = %a0, other = %a1, alpha = 1 : i64) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @special_xlog1py(
func.func @special_xlog1py(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.log1p
  // CHECK: arith.mulf
  // CHECK: arith.cmpf uno
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  %r = ltc.op "aten::special_xlog1py"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @special_xlog1py_other_scalar(
func.func @special_xlog1py_other_scalar(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.log1p
  // CHECK: arith.mulf
  // CHECK: arith.cmpf uno
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  %r = ltc.op "aten::special_xlog1py.other_scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @special_xlog1py_self_scalar(
func.func @special_xlog1py_self_scalar(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: math.log1p
  // CHECK: arith.mulf
  // CHECK: arith.cmpf uno
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  %r = ltc.op "aten::special_xlog1py.self_scalar"(self = %a0, other = %a1) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @sub_Scalar(
func.func @sub_Scalar(%a0: tensor<5xf32>, %a1: i64) -> (tensor<5xf32>) {
  // CHECK: arith.sitofp
  // CHECK: arith.subf
  %r = ltc.op "aten::sub.Scalar"(self = %a0, other = %a1, alpha = 1 : i64) node 0
    : (tensor<5xf32>, i64) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @xlogy_Scalar_Other(
func.func @xlogy_Scalar_Other(%a0: tensor<2xf32>, %a1: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.log
  // CHECK: arith.mulf
  // CHECK: arith.cmpf uno
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  // CHECK: arith.select
  %r = ltc.op "aten::xlogy.Scalar_Other"(self = %a0, other = %a1) node 0
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @xlogy_Scalar_Self(
func.func @xlogy_Scalar_Self(%a0: tensor<2xf32>, %a1: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.log
  // CHECK: arith.mulf
  // CHECK: arith.cmpf uno
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  // CHECK: arith.select
  %r = ltc.op "aten::xlogy.Scalar_Self"(self = %a0, other = %a1) node 0
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @xlogy_Tensor(
func.func @xlogy_Tensor(%a0: tensor<2xf32>, %a1: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.log
  // CHECK: arith.mulf
  // CHECK: arith.cmpf uno
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  // CHECK: arith.select
  %r = ltc.op "aten::xlogy.Tensor"(self = %a0, other = %a1) node 0
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}
