// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// No sum takes more than 32 terms, or 8 sums. 2048 rows are 64 sums of 32, which
// are 8 of 8: each strip has a sum of its own, from -0.0, that joins the next.

// CHECK-LABEL: func.func private @kernel_0
// CHECK:         %[[STRIPS:.*]] = arith.constant 256 : index
// CHECK:         scf.for {{.*}} step %[[STRIPS]] iter_args(%[[ALL:[a-z0-9_]+]] =
// CHECK:           %[[NONE:.*]] = arith.constant dense<-0.000000e+00>
// CHECK:           %[[STRIP:.*]] = arith.constant 32 : index
// CHECK:           %[[SOME:.*]] = scf.for {{.*}} step %[[STRIP]] iter_args(%[[SUM:[a-z0-9_]+]] = %[[NONE]]
// CHECK:             %[[FEW:.*]] = scf.for
// CHECK-NOT:           scf.for
// CHECK:               vector.load
// CHECK:               arith.addf
// CHECK:             arith.addf %[[SUM]], %[[FEW]]
// CHECK:           arith.addf %[[ALL]], %[[SOME]]

// A maximum does not round: one loop.
// CHECK-LABEL: func.func private @kernel_1
// CHECK-COUNT-1: scf.for {{.*}} iter_args
// CHECK-NOT:     scf.for
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<2048x16xf32>, %y: tensor<2048x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<2048x16xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  %g = linalg.fill ins(%low : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<2048x16xf32>) outs(%g : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  return %s, %m : tensor<16xf32>, tensor<16xf32>
}
