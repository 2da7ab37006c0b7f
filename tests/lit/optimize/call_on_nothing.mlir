// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A library call may read a slice without elements, which folds to an empty
// tensor: that gets a place in the arena like any other.

// CHECK-LABEL: func.func @main
// CHECK: %[[NOTHING:.*]] = memref.view %{{.*}} to memref<3x0xcomplex<f32>>
// CHECK: ltc.call "aten::sub.Tensor"(self = %[[NOTHING]], other = %{{.*}})
func.func @main(%x: tensor<3x0xcomplex<f32>>) -> tensor<3x0xcomplex<f32>> {
  %nothing = tensor.empty() : tensor<3x0xcomplex<f32>>
  %e = tensor.empty() : tensor<3x0xcomplex<f32>>
  %r = ltc.call "aten::sub.Tensor"(self = %nothing, other = %x) node 0
    : (tensor<3x0xcomplex<f32>>, tensor<3x0xcomplex<f32>>) outs(%e : tensor<3x0xcomplex<f32>>)
  return %r : tensor<3x0xcomplex<f32>>
}
