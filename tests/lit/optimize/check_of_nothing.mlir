// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A check outlives the element that it guards, also where that leaves a loop
// without operands and results: it becomes a kernel, not a part of @main.

// CHECK-LABEL: func.func @main
// CHECK-NOT: check_index
// CHECK: call @kernel_0(%{{.*}}) : (memref<i64>) -> ()
// CHECK: func.func private @kernel_0
// CHECK: memref.load
// CHECK: ltc.check_index
#scalar = affine_map<() -> ()>
func.func @main(%i: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %bound = arith.constant 10 : index
  %e = tensor.empty() : tensor<f32>
  %dead = linalg.generic {indexing_maps = [#scalar], iterator_types = []}
      outs(%e : tensor<f32>) {
  ^bb0(%o: f32):
    %a = tensor.extract %i[] : tensor<i64>
    %n = arith.index_cast %a : i64 to index
    %s = ltc.check_index %n, %bound {site = 0 : i64}
    %one = arith.constant 1.0 : f32
    linalg.yield %one : f32
  } -> tensor<f32>
  return %x : tensor<4xf32>
}
