// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A graph that fails leaves its arguments as they were: donated memory is written
// to after the last op that may fail. %early is updated before the index is
// checked and gets memory of its own; %late after it. The second look-up of the
// same index in a table of the same size fails only where the first does.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[EARLY:[a-z0-9]+]]: memref<4xf32>, %[[LATE:[a-z0-9]+]]: memref<4xf32>
// CHECK-SAME:    ltc.donated = array<i64: -1, 1, -1, -1>
// CHECK-NOT:   ltc.writes_donated
// CHECK:       call @{{.*}}(%[[LATE]], %[[LATE]]) {ltc.writes_donated}
// CHECK:       return
// CHECK:       ltc.check_index %{{[0-9]+}}, %{{[a-z0-9_]+}} {site = 1 : i64
// CHECK:       ltc.check_index {{.*}} {ltc.repeated, site = 3 : i64
func.func @main(%early: tensor<4xf32>, %late: tensor<4xf32>, %table: tensor<8xf32>, %other: tensor<8x2xf32>, %i: tensor<3xi64>)
    -> (tensor<4xf32> {ltc.donates = 0 : i64}, tensor<4xf32> {ltc.donates = 1 : i64}, tensor<3xf32>, tensor<3x2xf32>) {
  %0 = ltc.op "aten::mul.Tensor"(self = %early, other = %early) node 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ltc.op "aten::index.Tensor"(self = %table, indices = [%i]) node 1 : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32>
  %2 = ltc.op "aten::mul.Tensor"(self = %late, other = %late) node 2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = ltc.op "aten::index.Tensor"(self = %other, indices = [%i]) node 3 : (tensor<8x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return %0, %2, %1, %3 : tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3x2xf32>
}
