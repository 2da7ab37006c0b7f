// RUN: ltc-opt %s --ltc-lower | FileCheck %s

// An op without a row becomes a call into fresh tensors.

// CHECK-LABEL: func.func @two_results
func.func @two_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>) {
  // CHECK: %[[V:.*]] = tensor.empty() : tensor<4x8xf32>
  // CHECK: %[[I:.*]] = tensor.empty() : tensor<4x8xi64>
  // CHECK: %[[R:.*]]:2 = ltc.call "aten::sort"(self = %{{.*}}, dim = -1 : i64, descending = false) node 5
  // CHECK-SAME: outs(%[[V]], %[[I]] : tensor<4x8xf32>, tensor<4x8xi64>)
  // CHECK: return %[[R]]#0, %[[R]]#1
  %0:2 = ltc.op "aten::sort"(self = %x, dim = -1 : i64, descending = false) node 5
    : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xi64>
}

// A dtype that rows do not know goes the same way.

// CHECK-LABEL: func.func @complex
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // CHECK: ltc.call "aten::add.Tensor"
  %0 = ltc.op "aten::add.Tensor"(self = %x, other = %x, alpha = 1 : i64) node 0
    : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// A contraction reads what was transposed before it in place, through any number
// of transposes; the copy that nothing else reads is gone.

// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[Y:.*]]: tensor<3x2x5xf32>)
func.func @transposed(%x: tensor<2x3x4xf32>, %y: tensor<3x2x5xf32>) -> tensor<3x4x5xf32> {
  // CHECK-NOT: linalg
  // CHECK: ltc.call "aten::bmm"(self = %[[X]], mat2 = %[[Y]]) node 2 {permutations = [array<i64: 1, 2, 0>, array<i64>]}
  // CHECK-NOT: linalg
  %0 = ltc.op "aten::transpose_copy.int"(self = %x, dim0 = 0 : i64, dim1 = 1 : i64) node 0
    : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %1 = ltc.op "aten::transpose_copy.int"(self = %0, dim0 = -1 : i64, dim1 = -2 : i64) node 1
    : (tensor<3x2x4xf32>) -> tensor<3x4x2xf32>
  %2 = ltc.op "aten::bmm"(self = %1, mat2 = %y) node 2
    : (tensor<3x4x2xf32>, tensor<3x2x5xf32>) -> tensor<3x4x5xf32>
  return %2 : tensor<3x4x5xf32>
}

// Other kernels get dense memory: PyTorch calls some of them on contiguous()
// tensors only, and does not say so in the schema.

// CHECK-LABEL: func.func @dense
func.func @dense(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  // CHECK: %[[T:[0-9]+]] = linalg.generic
  // CHECK: ltc.call "aten::foo"(self = %[[T]]) node 1 :
  %0 = ltc.op "aten::t_copy"(self = %x) node 0 : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = ltc.op "aten::foo"(self = %0) node 1 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @dead
func.func @dead(%x: tensor<4xf32>) {
  // CHECK-NEXT: return
  %0 = ltc.op "aten::sort"(self = %x) node 0 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ltc.op "aten::relu"(self = %0) node 1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}
