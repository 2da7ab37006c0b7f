// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A product is not added in place to a slice: the rows of the sum lie next to
// each other, and would be written over rows of the slice not yet read.

// CHECK-LABEL: func.func @main(
// CHECK:       %[[WIDE:[a-z0-9_]+]] = memref.view %[[ARENA:[a-z0-9]+]][%c0]
// CHECK:       %[[SLICE:[a-z0-9_]+]] = memref.subview %[[WIDE]]
// CHECK:       %[[SUM:[a-z0-9_]+]] = memref.view %[[ARENA]][%c128]
// CHECK:       ltc.call "aten::addmm"(self = %[[SLICE]], {{.*}} outs(%[[SUM]] :
// CHECK:       return
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x4xf32>)
    -> tensor<4x4xf32> {
  %wide = tensor.empty() : tensor<4x8xf32>
  %0 = ltc.call "aten::mm"(self = %a, mat2 = %b) node 0
    : (tensor<4x8xf32>, tensor<8x8xf32>) outs(%wide : tensor<4x8xf32>)
  %slice = tensor.extract_slice %0[0, 0] [4, 4] [1, 1]
    : tensor<4x8xf32> to tensor<4x4xf32>
  %init = tensor.empty() : tensor<4x4xf32>
  %1 = ltc.call "aten::addmm"(self = %slice, mat1 = %a, mat2 = %c, beta = 1 : i64, alpha = 1 : i64) node 1
    : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>) outs(%init : tensor<4x4xf32>)
  %2 = ltc.call "aten::mm"(self = %1, mat2 = %1) node 2
    : (tensor<4x4xf32>, tensor<4x4xf32>) outs(%init : tensor<4x4xf32>)
  return %2 : tensor<4x4xf32>
}
