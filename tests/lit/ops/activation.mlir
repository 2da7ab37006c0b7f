// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @relu
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // NaN and a zero of either sign stay, which maximumf would not do
  // CHECK: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[X:.*]], %[[ZERO]] : f32
  // CHECK: arith.select %[[LESS]], %[[ZERO]], %[[X]] : f32
  %0 = ltc.op "aten::relu"(self = %x) node 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[N:.*]] = arith.negf %[[X]]
  // CHECK: %[[E:.*]] = math.exp %[[N]]
  // CHECK: %[[D:.*]] = arith.addf %[[E]], %{{.*}}
  // CHECK: arith.divf %[[X]], %[[D]]
  %0 = ltc.op "aten::silu"(self = %x) node 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @threshold_backward
func.func @threshold_backward(%g: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: ^bb0(%[[G:.*]]: f32, %[[X:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[BELOW:.*]] = arith.cmpf ole, %[[X]], %[[ZERO:.*]] : f32
  // CHECK: arith.select %[[BELOW]], %[[ZERO]], %[[G]] : f32
  %0 = ltc.op "aten::threshold_backward"(grad_output = %g, self = %x, threshold = 0 : i64) node 0
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: math.erf
  // CHECK: math.exp
  // CHECK: arith.divf
  // CHECK: math.tanh
  %0 = ltc.op "aten::gelu"(self = %x, approximate = "none") node 0 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ltc.op "aten::gelu"(self = %x, approximate = "tanh") node 1 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Row maximum and sum are vectors that broadcast by their maps; bf16 is
// widened once and narrowed once.
// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // CHECK: arith.extf
  // CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]}
  // CHECK: arith.maximumf
  // CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]], iterator_types = ["parallel", "parallel"]}
  // CHECK: arith.subf
  // CHECK: math.exp
  // CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]}
  // CHECK: arith.addf
  // CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]], iterator_types = ["parallel", "parallel"]}
  // CHECK: arith.divf
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK-NOT: tensor.expand_shape
  %0 = ltc.op "aten::_softmax"(self = %x, dim = -1 : i64, half_to_float = false) node 0
    : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// -----

// Eager keeps a row's sum, and its logarithm, in the dtype of the result.
// CHECK-LABEL: func.func @log_softmax_of_bf16_rows
func.func @log_softmax_of_bf16_rows(%x: tensor<4x5xbf16>) -> tensor<4x5xbf16> {
  // CHECK: iterator_types = ["parallel", "reduction"]
  // CHECK: arith.addf
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK: math.log
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %0 = ltc.op "aten::_log_softmax"(self = %x, dim = 1 : i64, half_to_float = false) node 0
    : (tensor<4x5xbf16>) -> tensor<4x5xbf16>
  return %0 : tensor<4x5xbf16>
}
