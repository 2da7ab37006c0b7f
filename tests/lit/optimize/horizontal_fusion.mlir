// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// RUN: ltc-opt %s --ltc-fuse --ltc-horizontal-fusion | FileCheck %s --check-prefix=STEP
//
// A sum and a sum of squares along the same columns are two results of one
// loop, which reads the matrix once. What is summed up to a result of the other
// cannot be part of it.

// CHECK-LABEL: func.func @main(
// CHECK:         call @[[BOTH:.*]](%{{.*}}) : (memref<64x64xf32>, memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:    call @[[REST:.*]](%{{.*}}) : (memref<64x64xf32>, memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:    return
// CHECK:       func.func private @[[BOTH]]
// CHECK:         scf.for {{.*}} -> (vector<[[LANES:[0-9]+]]xf32>, vector<[[LANES]]xf32>
// CHECK:           %[[X:.*]] = vector.load
// CHECK-NEXT:      arith.addf %{{.*}}, %[[X]]
// CHECK-NEXT:      %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT:      arith.addf %{{.*}}, %[[SQUARE]]

// STEP:     %[[SUMS:.*]]:2 = linalg.generic
// STEP:       linalg.yield %{{.*}}, %{{.*}} : f32, f32
// STEP:     linalg.generic {{.*}} ins(%{{.*}}, %[[SUMS]]#0
// STEP:     return %[[SUMS]]#0, %[[SUMS]]#1,
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %q = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<64x64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %aa = arith.mulf %a, %a : f32
    %r = arith.addf %o, %aa : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %d = linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %s : tensor<64x64xf32>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %am = arith.subf %a, %m : f32
    %r = arith.addf %o, %am : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %s, %q, %d : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
