// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A contraction reads a slice where it is; another kernel gets a copy of it.

// CHECK-LABEL: func.func @main
// CHECK:      %[[S:[a-z0-9_]+]] = memref.subview %arg0[0, 2] [4, 4] [1, 1]
// CHECK:      ltc.call "aten::mm"(self = %[[S]]
// CHECK:      call @kernel_0(%arg0, %[[COPY:[a-z0-9_]+]])
// CHECK:      ltc.call "aten::foo"(self = %[[COPY]])
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = ltc.call "aten::mm"(self = %s, mat2 = %s) node 0
    : (tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
  %1 = ltc.call "aten::foo"(self = %s) node 1
    : (tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
