// RUN: ltc-opt %s --cpu=x86-64-v4:+avx512f,+avx512vl,+avx512bw,+avx512dq --stop-after=optimize | FileCheck %s
//
// A gradient is computed row by row, and its sum along columns is that of a bias,
// which the program asks for with the rows merged. The loop that computes the
// gradient adds up blocks of 32 rows as it goes, few at a time, so that it is
// read from the first cache; a second kernel adds up what the blocks gave.

// CHECK-LABEL: func.func @main(
// CHECK:         call @[[ROWS:.*]](%{{.*}}) : (memref<8x128x1024xf32>, memref<1024xf32>, memref<8x128x1024xf32>, memref<8x4x1024xf32>) -> ()
// CHECK:         call @[[SUM:.*]](%{{.*}}) : (memref<8x4x1024xf32>, memref<1024xf32>) -> ()
// CHECK-NEXT:    return

// CHECK:       func.func private @[[ROWS]]
// CHECK:         scf.forall (%{{.*}}) = (0, 0, 0) to (8, 4, 1024) step (1, 1, 512)
// CHECK:           vector.store %{{.*}} : memref<?xf32>, vector<16xf32>
// CHECK:           scf.for %[[ROW:.*]] = %{{.*}} to %[[LAST:.*]] step %[[STEP:.*]] {
// CHECK:             affine.apply #{{.*}}(%[[ROW]], %{{.*}})
// CHECK:             arith.mulf
// CHECK:             vector.store
// CHECK:             vector.load
// CHECK:             arith.addf
// CHECK:       func.func private @[[SUM]]
#id = affine_map<(i, j, k) -> (i, j, k)>
#column = affine_map<(i, j, k) -> (k)>
#flat = affine_map<(i, k) -> (i, k)>
#flat_column = affine_map<(i, k) -> (k)>
func.func @main(%x: tensor<8x128x1024xf32>, %w: tensor<1024xf32>) -> (tensor<8x128x1024xf32>, tensor<1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x128x1024xf32>
  %g = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %w : tensor<8x128x1024xf32>, tensor<1024xf32>) outs(%e : tensor<8x128x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = math.tanh %a : f32
    %r = arith.mulf %t, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x128x1024xf32>
  %merged = tensor.collapse_shape %g [[0, 1], [2]] : tensor<8x128x1024xf32> into tensor<1024x1024xf32>
  %n = tensor.empty() : tensor<1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%n : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [#flat, #flat_column], iterator_types = ["reduction", "parallel"]}
      ins(%merged : tensor<1024x1024xf32>) outs(%f : tensor<1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<1024xf32>
  return %g, %s : tensor<8x128x1024xf32>, tensor<1024xf32>
}
