// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// An op that loads another's result at any position, and reads it at its own as
// well: a pool minus its input. The other op stays a kernel that runs before it.

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @main
// CHECK: call @kernel_0
// CHECK: call @kernel_1
// CHECK: return
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.exp %in : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %mirrored = linalg.generic {indexing_maps = [#id],
      iterator_types = ["parallel"]} outs(%e : tensor<64xf32>) {
  ^bb0(%out: f32):
    %c63 = arith.constant 63 : index
    %i = linalg.index 0 : index
    %j = arith.subi %c63, %i : index
    %a = tensor.extract %p[%j] : tensor<64xf32>
    linalg.yield %a : f32
  } -> tensor<64xf32>
  %difference = linalg.generic {indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel"]}
      ins(%mirrored, %p : tensor<64xf32>, tensor<64xf32>)
      outs(%e : tensor<64xf32>) {
  ^bb0(%in0: f32, %in1: f32, %out: f32):
    %a = arith.subf %in0, %in1 : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %difference : tensor<64xf32>
}

// CHECK-LABEL: func.func private @kernel_0
// CHECK: math.exp
// CHECK-LABEL: func.func private @kernel_1
// CHECK-NOT: math.exp
// CHECK: arith.subf
