// RUN: ltc-opt %s --ltc-lower | FileCheck %s

// Gradients of one weight, added up: the library adds while it multiplies.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8x4xf32>)
func.func @chain(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[P:.*]] = ltc.call "aten::mm"(self = %[[A]], mat2 = %[[B]]) node 0
  // CHECK: %[[S:.*]] = ltc.call "aten::addmm"(self = %[[P]], mat1 = %[[A]], mat2 = %[[B]], beta = 1 : i64, alpha = 1 : i64) node 1
  // CHECK: %[[T:.*]] = ltc.call "aten::addmm"(self = %[[S]], mat1 = %[[A]], mat2 = %[[B]], beta = 1 : i64, alpha = 1 : i64) node 3
  // CHECK: return %[[T]]
  %0 = ltc.op "aten::mm"(self = %a, mat2 = %b) node 0
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = ltc.op "aten::mm"(self = %a, mat2 = %b) node 1
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %2 = ltc.op "aten::add.Tensor"(self = %0, other = %1, alpha = 1 : i64) node 2
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ltc.op "aten::mm"(self = %a, mat2 = %b) node 3
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %4 = ltc.op "aten::add.Tensor"(self = %3, other = %2, alpha = 1 : i64) node 4
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// Through the two transposes that autograd leaves around a weight's gradient.

// CHECK-LABEL: func.func @transposed
// CHECK: ltc.call "aten::mm"
// CHECK-NOT: linalg
// CHECK: ltc.call "aten::addmm"
func.func @transposed(%g: tensor<8x4xf32>, %x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = ltc.op "aten::t_copy"(self = %g) node 0 : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %1 = ltc.op "aten::mm"(self = %0, mat2 = %x) node 1
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %2 = ltc.op "aten::t_copy"(self = %1) node 2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ltc.op "aten::t_copy"(self = %2) node 3 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = ltc.op "aten::mm"(self = %0, mat2 = %x) node 4
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %5 = ltc.op "aten::add.Tensor"(self = %3, other = %4, alpha = 1 : i64) node 5
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

// A product that is read again, a sum of other shapes, another factor, and a
// type whose product is rounded before the sum stay two ops.

// CHECK-LABEL: func.func @kept
// CHECK-NOT: addmm
// CHECK: return
func.func @kept(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %row: tensor<4xf32>,
                %h: tensor<4x8xbf16>, %i: tensor<8x4xbf16>, %j: tensor<4x4xbf16>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>) {
  %0 = ltc.op "aten::mm"(self = %a, mat2 = %b) node 0
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = ltc.op "aten::add.Tensor"(self = %0, other = %0, alpha = 1 : i64) node 1
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = ltc.op "aten::mm"(self = %a, mat2 = %b) node 2
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %3 = ltc.op "aten::add.Tensor"(self = %2, other = %row, alpha = 1 : i64) node 3
    : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %4 = ltc.op "aten::mm"(self = %a, mat2 = %b) node 4
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %5 = ltc.op "aten::add.Tensor"(self = %1, other = %4, alpha = 2 : i64) node 5
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = ltc.op "aten::mm"(self = %h, mat2 = %i) node 6
    : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xbf16>
  %7 = ltc.op "aten::add.Tensor"(self = %j, other = %6, alpha = 1 : i64) node 7
    : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  return %1, %3, %5, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>
}

// A batch times one matrix is one product of all rows; of open sizes, and of a
// matrix for each, it stays.

// CHECK-LABEL: func.func @rows
// CHECK-NOT: bmm
// CHECK: ltc.call "aten::mm"{{.*}} : (tensor<12x8xf32>, tensor<8x5xf32>
// CHECK-NOT: bmm
// CHECK: return
func.func @rows(%a: tensor<3x4x8xf32>, %w: tensor<8x5xf32>) -> tensor<3x4x5xf32> {
  %0 = ltc.op "aten::expand_copy"(self = %w, size = array<i64: 3, 8, 5>, implicit = false) node 0
    : (tensor<8x5xf32>) -> tensor<3x8x5xf32>
  %1 = ltc.op "aten::bmm"(self = %a, mat2 = %0) node 1
    : (tensor<3x4x8xf32>, tensor<3x8x5xf32>) -> tensor<3x4x5xf32>
  return %1 : tensor<3x4x5xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK: ltc.call "aten::bmm"
func.func @batch(%a: tensor<3x4x8xf32>, %w: tensor<1x8x5xf32>) -> tensor<3x4x5xf32> {
  %0 = ltc.op "aten::expand_copy"(self = %w, size = array<i64: 3, 8, 5>, implicit = false) node 0
    : (tensor<1x8x5xf32>) -> tensor<3x8x5xf32>
  %1 = ltc.op "aten::bmm"(self = %a, mat2 = %0) node 1
    : (tensor<3x4x8xf32>, tensor<3x8x5xf32>) -> tensor<3x4x5xf32>
  return %1 : tensor<3x4x5xf32>
}
