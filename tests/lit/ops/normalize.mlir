// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s

// Two passes over the row: the mean, then the mean of squared differences.

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: %[[EPS:[a-z0-9]+]]: f64)
func.func @layer_norm(%x: tensor<8x16xf32>, %w: tensor<16xf32>, %b: tensor<16xf32>, %eps: f64)
    -> (tensor<8x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>) {
  // CHECK: iterator_types = ["parallel", "reduction"]
  // CHECK: arith.addf
  // CHECK: iterator_types = ["parallel", "reduction"]
  // CHECK: arith.addf
  // CHECK: %[[E:.*]] = arith.truncf %[[EPS]] : f64 to f32
  // CHECK: arith.addf %{{.*}}, %[[E]]
  // CHECK: math.sqrt
  // CHECK: %[[RSTD:.*]] = tensor.expand_shape {{.*}} : tensor<8xf32> into tensor<8x1xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]]
  // CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$COLUMN]], #[[$ID]]]
  // CHECK: return %{{.*}}, %{{.*}}, %[[RSTD]]
  %0:3 = ltc.op "aten::native_layer_norm"(input = %x, normalized_shape = array<i64: 16>, weight = %w, bias = %b, eps = %eps) node 0
    : (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>, f64) -> (tensor<8x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
  return %0#0, %0#1, %0#2 : tensor<8x16xf32>, tensor<8x1xf32>, tensor<8x1xf32>
}
