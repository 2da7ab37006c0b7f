// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A product is added to its addend in place: to a temporary nobody reads later,
// or to a donated argument. Not if the addend is a factor too, or is read later.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[G:[a-z0-9]+]]: memref<4x4xf32>
// CHECK:       ltc.call "aten::mm"{{.*}} outs(%[[T:[a-z0-9_]+]] :
// CHECK:       ltc.call "aten::addmm"(self = %[[T]], {{.*}} outs(%[[T]] :
// CHECK:       ltc.call "aten::addmm"(self = %[[G]], {{.*}} outs(%[[G]] :
// CHECK:       ltc.call "aten::addmm"(self = %[[F:[a-z0-9_]+]], mat1 = %[[F]],
// CHECK-NOT:   outs(%[[F]] :
// CHECK:       return
func.func @main(%g: tensor<4x4xf32>, %a: tensor<4x8xf32>, %b: tensor<8x4xf32>)
    -> (tensor<4x4xf32> {ltc.donates = 0 : i64}, tensor<4x4xf32>) {
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = ltc.call "aten::mm"(self = %a, mat2 = %b) node 0
    : (tensor<4x8xf32>, tensor<8x4xf32>) outs(%0 : tensor<4x4xf32>)
  %2 = ltc.call "aten::addmm"(self = %1, mat1 = %a, mat2 = %b, beta = 1 : i64, alpha = 1 : i64) node 1
    : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>) outs(%0 : tensor<4x4xf32>)
  %3 = ltc.call "aten::addmm"(self = %g, mat1 = %a, mat2 = %b, beta = 1 : i64, alpha = 1 : i64) node 2
    : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>) outs(%0 : tensor<4x4xf32>)
  %4 = ltc.call "aten::addmm"(self = %2, mat1 = %2, mat2 = %2, beta = 1 : i64, alpha = 1 : i64) node 3
    : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>)
  return %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>
}
