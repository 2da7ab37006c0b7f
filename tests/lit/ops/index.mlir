// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// The site of a check is the node, so that an error names the user's line.
// CHECK-LABEL: func.func @embedding
// CHECK-SAME: (%[[W:.*]]: tensor<100x16xf32>, %[[I:.*]]: tensor<2x3xi64>)
func.func @embedding(%w: tensor<100x16xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x16xf32> {
  // CHECK: iterator_types = ["parallel", "parallel", "parallel"]
  // CHECK: %[[ID:.*]] = tensor.extract %[[I]]
  // CHECK: %[[AT:.*]] = arith.index_cast %[[ID]] : i64 to index
  // CHECK: %[[ROW:.*]] = ltc.check_index %[[AT]], %{{.*}} {site = 9 : i64}
  // CHECK: tensor.extract %[[W]][%[[ROW]], %{{.*}}]
  %0 = ltc.op "aten::embedding"(weight = %w, indices = %i, padding_idx = -1 : i64, scale_grad_by_freq = false, sparse = false) node 9
    : (tensor<100x16xf32>, tensor<2x3xi64>) -> tensor<2x3x16xf32>
  return %0 : tensor<2x3x16xf32>
}

// -----

// CHECK-LABEL: func.func @gather
// CHECK-SAME: (%[[X:.*]]: tensor<8x10xf32>, %[[I:.*]]: tensor<4x3xi64>)
func.func @gather(%x: tensor<8x10xf32>, %i: tensor<4x3xi64>) -> tensor<4x3xf32> {
  // CHECK: %[[ROW:.*]] = linalg.index 0
  // CHECK: %[[C:.*]] = ltc.check_index %{{.*}}, %{{.*}} {site = 2 : i64}
  // CHECK: tensor.extract %[[X]][%[[ROW]], %[[C]]]
  %0 = ltc.op "aten::gather"(self = %x, dim = 1 : i64, index = %i, sparse_grad = false) node 2
    : (tensor<8x10xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @one_hot(
func.func @one_hot(%a0: tensor<5xi64>) -> (tensor<5x7xi64>) {
  // CHECK: arith.cmpi sge
  // CHECK: ltc.check {{.*}} "Class values must be non-negative."
  // CHECK: arith.cmpi slt
  // CHECK: ltc.check {{.*}} "Class values must be smaller than num_classes."
  // CHECK: arith.cmpi eq
  %r = ltc.op "aten::one_hot"(self = %a0, num_classes = 7 : i64) node 0
    : (tensor<5xi64>) -> (tensor<5x7xi64>)
  return %r : tensor<5x7xi64>
}

// CHECK-LABEL: func.func @_functional_assert_async_msg(
func.func @_functional_assert_async_msg(%a0: tensor<i8>, %a1: tensor<3xf32>) -> (tensor<3xf32>) {
  // CHECK: ltc.check {{.*}} "not so"
  %r = ltc.op "aten::_functional_assert_async.msg"(self = %a0, assert_msg = "not so", dep_token = %a1) node 0
    : (tensor<i8> as bool, tensor<3xf32>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}
