// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// One op reads both results of another, and so do later ops (the gates of an
// LSTM): all of it is one loop, which reads its own results nowhere.

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @main
// CHECK: call @kernel_0
// CHECK-NOT: call
// CHECK: return
func.func @main(%x: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %both:2 = linalg.generic {indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e, %e : tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%in: f32, %out0: f32, %out1: f32):
    %a = math.exp %in : f32
    %b = math.tanh %in : f32
    linalg.yield %a, %b : f32, f32
  } -> (tensor<64xf32>, tensor<64xf32>)
  %sum = linalg.generic {indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel"]}
      ins(%both#0, %both#1 : tensor<64xf32>, tensor<64xf32>)
      outs(%e : tensor<64xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %a = arith.addf %in0, %in1 : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %both#0, %both#1, %sum : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Only %x is read, and nothing is computed twice.
// CHECK-LABEL: func.func private @kernel_0
// CHECK-COUNT-1: vector.load
// CHECK-COUNT-1: math.exp
// CHECK-NOT: vector.load
// CHECK-NOT: math.exp
