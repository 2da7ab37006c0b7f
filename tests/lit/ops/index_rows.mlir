// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @_unsafe_index_Tensor(
func.func @_unsafe_index_Tensor(%a0: tensor<5x5x5xf32>, %a1: tensor<3xi64>, %a2: tensor<3xi64>, %a3: tensor<3xi64>) -> (tensor<3xf32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  %r = ltc.op "aten::_unsafe_index.Tensor"(self = %a0, indices = [%a1, %a2, %a3]) node 0
    : (tensor<5x5x5xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @index_Tensor(
func.func @index_Tensor(%a0: tensor<5x5x5xf32>, %a1: tensor<3xi64>, %a2: tensor<3xi64>, %a3: tensor<3xi64>) -> (tensor<3xf32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  %r = ltc.op "aten::index.Tensor"(self = %a0, indices = [%a1, %a2, %a3]) node 0
    : (tensor<5x5x5xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @index_select(
func.func @index_select(%a0: tensor<3x2xf32>, %a1: tensor<4xi64>) -> (tensor<4x2xf32>) {
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  %r = ltc.op "aten::index_select"(self = %a0, dim = 0 : i64, index = %a1) node 0
    : (tensor<3x2xf32>, tensor<4xi64>) -> (tensor<4x2xf32>)
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @take(
func.func @take(%a0: tensor<3x3xf32>, %a1: tensor<3xi64>) -> (tensor<3xf32>) {
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.extract
  // CHECK: ltc.check_index
  // CHECK: tensor.extract
  %r = ltc.op "aten::take"(self = %a0, index = %a1) node 0
    : (tensor<3x3xf32>, tensor<3xi64>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}
