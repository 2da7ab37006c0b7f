// RUN: ltc-opt %s --stop-after=lower --without=loops | FileCheck %s

// Without loops an op that has a row is a library call too.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NOT: linalg.generic
  // CHECK: %[[O:.*]] = tensor.empty() : tensor<4x8xf32>
  // CHECK: ltc.call "aten::relu"(self = %{{.*}}) node 0
  // CHECK-SAME: outs(%[[O]] : tensor<4x8xf32>)
  %0 = ltc.op "aten::relu"(self = %x) node 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
