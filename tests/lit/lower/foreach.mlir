// RUN: ltc-opt %s --ltc-lower | FileCheck %s

// A _foreach_ op is its row for each tensor; lists and lists of numbers give
// their i-th element, everything else goes to all.

// CHECK-LABEL: func.func @list
// CHECK-SAME: (%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<3xf32>, %[[S:.*]]: f64)
func.func @list(%a: tensor<2xf32>, %b: tensor<3xf32>, %s: f64) -> (tensor<2xf32>, tensor<3xf32>) {
  // CHECK: linalg.generic {{.*}} ins(%[[A]], %[[A]] :
  // CHECK: arith.truncf %[[S]]
  // CHECK: mulf
  // CHECK: addf
  // CHECK: linalg.generic {{.*}} ins(%[[B]], %[[B]] :
  // CHECK: mulf
  // CHECK: addf
  %0:2 = ltc.op "aten::_foreach_add.List"(self = [%a, %b], other = [%a, %b], alpha = %s) node 0
    : (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>, f64) -> (tensor<2xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @scalar_list
func.func @scalar_list(%a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  // CHECK: %[[TWO:.*]] = arith.constant 2.0
  // CHECK: divf %{{.*}}, %[[TWO]]
  // CHECK: %[[FOUR:.*]] = arith.constant 4.0
  // CHECK: divf %{{.*}}, %[[FOUR]]
  %0:2 = ltc.op "aten::_foreach_div.ScalarList"(self = [%a, %b], scalars = array<f64: 2.0, 4.0>) node 0
    : (tensor<2xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @no_row
func.func @no_row(%a: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: ltc.call "aten::_foreach_unheard_of"(self = [%{{.*}}])
  %0 = ltc.op "aten::_foreach_unheard_of"(self = [%a]) node 0 : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
