// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// What replaces a few elements writes over the tensor they belong to: a donated
// cache, or a temporary. Not over one that is read later, or is the source too.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[CACHE:[a-z0-9]+]]: memref<8x4xf32>, %[[KEPT:[a-z0-9]+]]: memref<8x4xf32>
// CHECK-SAME:    ltc.donated = array<i64: 0, -1, 5>
// CHECK:       ltc.call "aten::index_add"(self = %[[KEPT]], {{.*}} outs(%[[T:[a-z0-9_]+]] :
// CHECK:       ltc.call "aten::index_copy"(self = %[[T]], {{.*}} outs(%[[T]] :
// CHECK:       ltc.call "aten::index_add"(self = %[[T]], {{.*}}source = %[[T]]
// CHECK-NOT:   outs(%[[T]] :
// CHECK:       ltc.call "aten::index_put"(self = %[[CACHE]], {{.*}} outs(%[[CACHE]] :
// CHECK:       ltc.call "aten::index_put"(self = %[[TABLE:[a-z0-9]+]], {{.*}} outs(%[[TABLE]] :
// CHECK:       return
func.func @main(%cache: tensor<8x4xf32>, %kept: tensor<8x4xf32>, %i: tensor<1xi64>, %all: tensor<8xi64>, %row: tensor<1x4xf32>, %table: tensor<8x4xf32>)
    -> (tensor<8x4xf32> {ltc.donates = 0 : i64}, tensor<8x4xf32>, tensor<8x4xf32> {ltc.donates = 5 : i64}) {
  %e = tensor.empty() : tensor<8x4xf32>
  %1 = ltc.call "aten::index_add"(self = %kept, dim = 0 : i64, index = %i, source = %row, alpha = 1 : i64) node 1
    : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) outs(%e : tensor<8x4xf32>)
  %2 = ltc.call "aten::index_copy"(self = %1, dim = 0 : i64, index = %i, source = %row) node 2
    : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) outs(%e : tensor<8x4xf32>)
  %3 = ltc.call "aten::index_add"(self = %2, dim = 0 : i64, index = %all, source = %2, alpha = 1 : i64) node 3
    : (tensor<8x4xf32>, tensor<8xi64>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>)
  %0 = ltc.call "aten::index_put"(self = %cache, indices = [%i], values = %row, accumulate = true) node 0
    : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) outs(%e : tensor<8x4xf32>)
  %4 = ltc.call "aten::index_put"(self = %table, indices = [%i], values = %row, accumulate = true) node 4
    : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) outs(%e : tensor<8x4xf32>)
  return %0, %3, %4 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
