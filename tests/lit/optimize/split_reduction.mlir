// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// RUN: ltc-opt %s --ltc-split-reductions | FileCheck %s --check-prefix=STEP
//
// A sum of a whole tensor is two kernels: one of 30 parts of 65536, which run in
// parallel, and one of their sums. What is in no part is added up before that.

// CHECK-LABEL: func.func @main(
// CHECK:         call @[[REST:.*]](%{{.*}}) : (memref<2000003xf32>, memref<f32>) -> ()
// CHECK:         call @[[PARTS:.*]](%{{.*}}) : (memref<2000003xf32>, memref<30xf32>) -> ()
// CHECK:         call @[[SUM:.*]](%{{.*}}) : (memref<30xf32>, memref<f32>, memref<f32>) -> ()
// CHECK:       func.func private @[[REST]]
// CHECK-SAME:    ltc.kind = "serial"
// CHECK:       func.func private @[[PARTS]]
// CHECK-SAME:    ltc.kind = "row_reduce"
// CHECK:         scf.forall ({{.*}}) in (30)
// CHECK:           memref.subview %{{.*}} [65536] [1]
// CHECK:       func.func private @[[SUM]]

// STEP: %[[REST:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<33923xf32>)
// STEP: %[[PARTS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0, %{{.*}} : tensor<2000003xf32>, tensor<65536xi8>)
// STEP: linalg.generic {{.*}} ins(%[[PARTS]] : tensor<30xf32>) outs(%[[REST]] : tensor<f32>)
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @main(%x: tensor<2000003xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<2000003xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}
