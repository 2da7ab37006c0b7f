// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row of one tensor comes down to.

// CHECK-LABEL: func.func @abs(
func.func @abs(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.absf
  %r = ltc.op "aten::abs"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @acos(
func.func @acos(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.acos
  %r = ltc.op "aten::acos"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @acosh(
func.func @acosh(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.acosh
  %r = ltc.op "aten::acosh"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @asin(
func.func @asin(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.asin
  %r = ltc.op "aten::asin"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @asinh(
func.func @asinh(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.asinh
  %r = ltc.op "aten::asinh"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @atan(
func.func @atan(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.atan
  %r = ltc.op "aten::atan"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @atanh(
func.func @atanh(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.atanh
  %r = ltc.op "aten::atanh"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @ceil(
func.func @ceil(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.ceil
  %r = ltc.op "aten::ceil"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @clone(
func.func @clone(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::clone"(self = %a0, memory_format = none) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @cos(
func.func @cos(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.cos
  %r = ltc.op "aten::cos"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @cosh(
func.func @cosh(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.cosh
  %r = ltc.op "aten::cosh"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @deg2rad(
func.func @deg2rad(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: arith.mulf
  %r = ltc.op "aten::deg2rad"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @erf(
func.func @erf(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.erf
  %r = ltc.op "aten::erf"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @erfc(
func.func @erfc(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.erfc
  %r = ltc.op "aten::erfc"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @exp(
func.func @exp(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.exp
  %r = ltc.op "aten::exp"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @exp2(
func.func @exp2(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.exp2
  %r = ltc.op "aten::exp2"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @expm1(
func.func @expm1(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.expm1
  %r = ltc.op "aten::expm1"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @floor(
func.func @floor(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.floor
  %r = ltc.op "aten::floor"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @frac(
func.func @frac(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.trunc
  // CHECK: arith.subf
  %r = ltc.op "aten::frac"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @hardtanh(
func.func @hardtanh(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.cmpf olt
  // CHECK: arith.select
  // CHECK: arith.cmpf ogt
  // CHECK: arith.select
  %r = ltc.op "aten::hardtanh"(self = %a0, min_val = -1.0 : f64, max_val = 1.0 : f64) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @lift_fresh_copy(
func.func @lift_fresh_copy(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::lift_fresh_copy"(self = %a0, memory_format = none) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @log(
func.func @log(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: math.log
  %r = ltc.op "aten::log"(self = %a0) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @log10(
func.func @log10(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.log10
  %r = ltc.op "aten::log10"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @log1p(
func.func @log1p(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.log1p
  %r = ltc.op "aten::log1p"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @log2(
func.func @log2(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.log2
  %r = ltc.op "aten::log2"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @logit(
func.func @logit(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.subf
  // CHECK: arith.divf
  // CHECK: math.log
  %r = ltc.op "aten::logit"(self = %a0, eps = none) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @nan_to_num(
func.func @nan_to_num(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.cmpf ogt
  // CHECK: arith.select
  // CHECK: arith.cmpf uno
  // CHECK: math.absf
  // CHECK: arith.cmpf oeq
  // CHECK: arith.select
  %r = ltc.op "aten::nan_to_num"(self = %a0, nan = none, posinf = none, neginf = none) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @neg(
func.func @neg(%a0: tensor<3xf32>) -> (tensor<3xf32>) {
  // CHECK: arith.negf
  %r = ltc.op "aten::neg"(self = %a0) node 0
    : (tensor<3xf32>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @positive(
func.func @positive(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::positive"(self = %a0, memory_format = none) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @pow_Scalar(
func.func @pow_Scalar(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.powf
  %r = ltc.op "aten::pow.Scalar"(self = %a0, exponent = 4.0 : f64) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @pow_Tensor_Scalar(
func.func @pow_Tensor_Scalar(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.mulf
  %r = ltc.op "aten::pow.Tensor_Scalar"(self = %a0, exponent = 2 : i64) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @rad2deg(
func.func @rad2deg(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: arith.mulf
  %r = ltc.op "aten::rad2deg"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @reciprocal(
func.func @reciprocal(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.divf
  %r = ltc.op "aten::reciprocal"(self = %a0) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @round(
func.func @round(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.roundeven
  %r = ltc.op "aten::round"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @round_decimals(
func.func @round_decimals(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.roundeven
  %r = ltc.op "aten::round.decimals"(self = %a0, decimals = 0 : i64) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @rsqrt(
func.func @rsqrt(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.sqrt
  // CHECK: arith.divf
  %r = ltc.op "aten::rsqrt"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @sgn(
func.func @sgn(%a0: tensor<3xf32>) -> (tensor<3xf32>) {
  // CHECK: arith.cmpf ogt
  // CHECK: arith.uitofp
  // CHECK: arith.cmpf olt
  // CHECK: arith.uitofp
  // CHECK: arith.subf
  %r = ltc.op "aten::sgn"(self = %a0) node 0
    : (tensor<3xf32>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @sigmoid(
func.func @sigmoid(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: arith.negf
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK: arith.divf
  %r = ltc.op "aten::sigmoid"(self = %a0) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @sign(
func.func @sign(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: arith.cmpf ogt
  // CHECK: arith.uitofp
  // CHECK: arith.cmpf olt
  // CHECK: arith.uitofp
  // CHECK: arith.subf
  %r = ltc.op "aten::sign"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @sin(
func.func @sin(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.sin
  %r = ltc.op "aten::sin"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @sinc(
func.func @sinc(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: arith.mulf
  // CHECK: arith.cmpf oeq
  // CHECK: math.sin
  // CHECK: arith.divf
  // CHECK: arith.select
  %r = ltc.op "aten::sinc"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @sinh(
func.func @sinh(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.sinh
  %r = ltc.op "aten::sinh"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @special_entr(
func.func @special_entr(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.log
  %r = ltc.op "aten::special_entr"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @special_erf(
func.func @special_erf(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.erf
  %r = ltc.op "aten::special_erf"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @special_erfc(
func.func @special_erfc(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.erfc
  %r = ltc.op "aten::special_erfc"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @sqrt(
func.func @sqrt(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: math.sqrt
  %r = ltc.op "aten::sqrt"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @tan(
func.func @tan(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.tan
  %r = ltc.op "aten::tan"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}

// CHECK-LABEL: func.func @tanh(
func.func @tanh(%a0: tensor<20xf32>) -> (tensor<20xf32>) {
  // CHECK: math.tanh
  %r = ltc.op "aten::tanh"(self = %a0) node 0
    : (tensor<20xf32>) -> (tensor<20xf32>)
  return %r : tensor<20xf32>
}

// CHECK-LABEL: func.func @trunc(
func.func @trunc(%a0: tensor<20x20xf32>) -> (tensor<20x20xf32>) {
  // CHECK: math.trunc
  %r = ltc.op "aten::trunc"(self = %a0) node 0
    : (tensor<20x20xf32>) -> (tensor<20x20xf32>)
  return %r : tensor<20x20xf32>
}
