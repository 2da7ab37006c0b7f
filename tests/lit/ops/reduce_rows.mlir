// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @all(
func.func @all(%a0: tensor<2xf32>) -> (tensor<i8>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.cmpi ne
  // CHECK: arith.cmpf une
  // CHECK: arith.andi
  %r = ltc.op "aten::all"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<i8> as bool)
  return %r : tensor<i8>
}

// CHECK-LABEL: func.func @all_dim(
func.func @all_dim(%a0: tensor<2xf32>) -> (tensor<i8>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.cmpi ne
  // CHECK: arith.cmpf une
  // CHECK: arith.andi
  %r = ltc.op "aten::all.dim"(self = %a0, dim = -1 : i64, keepdim = false) node 0
    : (tensor<2xf32>) -> (tensor<i8> as bool)
  return %r : tensor<i8>
}

// CHECK-LABEL: func.func @all_dims(
func.func @all_dims(%a0: tensor<3x5xf32>) -> (tensor<1x1xi8>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.cmpi ne
  // CHECK: arith.cmpf une
  // CHECK: arith.andi
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::all.dims"(self = %a0, dim = array<i64: 0, -1>, keepdim = true) node 0
    : (tensor<3x5xf32>) -> (tensor<1x1xi8> as bool)
  return %r : tensor<1x1xi8>
}

// CHECK-LABEL: func.func @amax(
func.func @amax(%a0: tensor<2xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.maximumf
  %r = ltc.op "aten::amax"(self = %a0, dim = array<i64>, keepdim = false) node 0
    : (tensor<2xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @amin(
func.func @amin(%a0: tensor<2xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.minimumf
  %r = ltc.op "aten::amin"(self = %a0, dim = array<i64>, keepdim = false) node 0
    : (tensor<2xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @aminmax(
func.func @aminmax(%a0: tensor<5x5x5xf32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.minimumf
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.maximumf
  %r:2 = ltc.op "aten::aminmax"(self = %a0, dim = none, keepdim = false) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @any(
func.func @any(%a0: tensor<2xf32>) -> (tensor<i8>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.cmpi ne
  // CHECK: arith.cmpf une
  // CHECK: arith.ori
  %r = ltc.op "aten::any"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<i8> as bool)
  return %r : tensor<i8>
}

// CHECK-LABEL: func.func @any_dim(
func.func @any_dim(%a0: tensor<2xf32>) -> (tensor<i8>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.cmpi ne
  // CHECK: arith.cmpf une
  // CHECK: arith.ori
  %r = ltc.op "aten::any.dim"(self = %a0, dim = -1 : i64, keepdim = false) node 0
    : (tensor<2xf32>) -> (tensor<i8> as bool)
  return %r : tensor<i8>
}

// CHECK-LABEL: func.func @any_dims(
func.func @any_dims(%a0: tensor<3x5xf32>) -> (tensor<1x1xi8>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.cmpi ne
  // CHECK: arith.cmpf une
  // CHECK: arith.ori
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::any.dims"(self = %a0, dim = array<i64: 0, -1>, keepdim = true) node 0
    : (tensor<3x5xf32>) -> (tensor<1x1xi8> as bool)
  return %r : tensor<1x1xi8>
}

// CHECK-LABEL: func.func @argmax(
func.func @argmax(%a0: tensor<2xf32>) -> (tensor<i64>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::argmax"(self = %a0, dim = none, keepdim = false) node 0
    : (tensor<2xf32>) -> (tensor<i64>)
  return %r : tensor<i64>
}

// CHECK-LABEL: func.func @argmin(
func.func @argmin(%a0: tensor<2xf32>) -> (tensor<i64>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::argmin"(self = %a0, dim = none, keepdim = false) node 0
    : (tensor<2xf32>) -> (tensor<i64>)
  return %r : tensor<i64>
}

// CHECK-LABEL: func.func @linalg_vector_norm(
func.func @linalg_vector_norm(%a0: tensor<5x5xf32>) -> (tensor<f32>) {
  // CHECK: math.absf
  // CHECK: arith.mulf
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  // CHECK: math.sqrt
  %r = ltc.op "aten::linalg_vector_norm"(self = %a0, ord = 2 : i64, dim = none, keepdim = false, dtype = none) node 0
    : (tensor<5x5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @logsumexp(
func.func @logsumexp(%a0: tensor<5x5xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.absf
  // CHECK: math.exp
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::logsumexp"(self = %a0, dim = array<i64: 0, 1>, keepdim = false) node 0
    : (tensor<5x5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @max(
func.func @max(%a0: tensor<5x5x5xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.maximumf
  %r = ltc.op "aten::max"(self = %a0) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @mean(
func.func @mean(%a0: tensor<5x5x5xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  // CHECK: arith.divf
  %r = ltc.op "aten::mean"(self = %a0, dtype = none) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @mean_dim(
func.func @mean_dim(%a0: tensor<2xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  // CHECK: arith.divf
  %r = ltc.op "aten::mean.dim"(self = %a0, dim = array<i64: -1>, keepdim = false, dtype = none) node 0
    : (tensor<2xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @min(
func.func @min(%a0: tensor<2xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.minimumf
  %r = ltc.op "aten::min"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @min_dim(
func.func @min_dim(%a0: tensor<5x5x5xf32>) -> (tensor<5x5xf32>, tensor<5x5xi64>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  %r:2 = ltc.op "aten::min.dim"(self = %a0, dim = 1 : i64, keepdim = false) node 0
    : (tensor<5x5x5xf32>) -> (tensor<5x5xf32>, tensor<5x5xi64>)
  return %r#0, %r#1 : tensor<5x5xf32>, tensor<5x5xi64>
}

// CHECK-LABEL: func.func @count_nonzero(
func.func @count_nonzero(%a0: tensor<3xf32>) -> (tensor<i64>) {
  // CHECK: arith.cmpf une
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addi {{.*}} : i64
  %r = ltc.op "aten::count_nonzero"(self = %a0, dim = none) node 0
    : (tensor<3xf32>) -> (tensor<i64>)
  return %r : tensor<i64>
}

// CHECK-LABEL: func.func @count_nonzero_dim_IntList(
func.func @count_nonzero_dim_IntList(%a0: tensor<2x3xf32>) -> (tensor<2xi64>) {
  // CHECK: arith.cmpf une
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addi {{.*}} : i64
  %r = ltc.op "aten::count_nonzero.dim_IntList"(self = %a0, dim = array<i64: 1>) node 0
    : (tensor<2x3xf32>) -> (tensor<2xi64>)
  return %r : tensor<2xi64>
}

// CHECK-LABEL: func.func @nansum(
func.func @nansum(%a0: tensor<2xf32>) -> (tensor<f32>) {
  // CHECK: arith.cmpf uno
  // CHECK: arith.select
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  %r = ltc.op "aten::nansum"(self = %a0, dim = none, keepdim = false, dtype = none) node 0
    : (tensor<2xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @norm_Scalar(
func.func @norm_Scalar(%a0: tensor<3xf32>) -> (tensor<f32>) {
  // CHECK: math.absf
  // CHECK: arith.mulf
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  // CHECK: math.sqrt
  %r = ltc.op "aten::norm.Scalar"(self = %a0, p = 2.0 : f64, dim = array<i64: 0>, keepdim = false) node 0
    : (tensor<3xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @norm_ScalarOpt_dim(
func.func @norm_ScalarOpt_dim(%a0: tensor<3xf32>) -> (tensor<f32>) {
  // CHECK: math.absf
  // CHECK: arith.mulf
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.addf
  // CHECK: math.sqrt
  %r = ltc.op "aten::norm.ScalarOpt_dim"(self = %a0, p = 2.0 : f64, dim = array<i64: 0>, keepdim = false) node 0
    : (tensor<3xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @prod(
func.func @prod(%a0: tensor<5x5x5xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.mulf
  %r = ltc.op "aten::prod"(self = %a0, dtype = none) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @prod_dim_int(
func.func @prod_dim_int(%a0: tensor<5x5x5xf32>) -> (tensor<5x5xf32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: arith.mulf
  %r = ltc.op "aten::prod.dim_int"(self = %a0, dim = 1 : i64, keepdim = false, dtype = none) node 0
    : (tensor<5x5x5xf32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @std_correction(
func.func @std_correction(%a0: tensor<5x5x5xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.sqrt
  %r = ltc.op "aten::std.correction"(self = %a0, dim = none, correction = none, keepdim = false) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @std_mean_correction(
func.func @std_mean_correction(%a0: tensor<5x5x5xf32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: math.sqrt
  %r:2 = ltc.op "aten::std_mean.correction"(self = %a0, dim = none, correction = none, keepdim = false) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @var_correction(
func.func @var_correction(%a0: tensor<5x5x5xf32>) -> (tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  %r = ltc.op "aten::var.correction"(self = %a0, dim = none, correction = none, keepdim = false) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @var_mean_correction(
func.func @var_mean_correction(%a0: tensor<5x5x5xf32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: linalg.fill
  // CHECK: linalg.generic {{.*}}"reduction"
  // CHECK: linalg.generic {{.*}}"reduction"
  %r:2 = ltc.op "aten::var_mean.correction"(self = %a0, dim = none, correction = none, keepdim = false) node 0
    : (tensor<5x5x5xf32>) -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @histc(
func.func @histc(%a0: tensor<12xi32>, %min: i64, %max: i64) -> (tensor<4xi32>) {
  // CHECK: linalg.generic {{.*}}"parallel", "parallel"{{.*}} outs(%{{.*}} : tensor<12x4xi8>)
  // CHECK: linalg.generic {{.*}}"reduction", "parallel"{{.*}} tensor<4xi64>
  %r = ltc.op "aten::histc"(self = %a0, bins = 4 : i64, min = %min, max = %max) node 0
    : (tensor<12xi32>, i64, i64) -> (tensor<4xi32>)
  return %r : tensor<4xi32>
}
