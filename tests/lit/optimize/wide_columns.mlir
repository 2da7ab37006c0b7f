// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// The sums of many columns stay in memory; eight rows at a time are read as
// they lie, and what is left of them one by one. 256 rows are added up apart, in
// other memory.

// CHECK-LABEL: func.func private @kernel_0
// CHECK:         scf.forall ({{.*}}) = (0) to (1024) step (512)
// CHECK:           %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:           scf.for {{.*}} step %[[EIGHT]]{{[_0-9]*}} {
// CHECK:             scf.for
// CHECK-COUNT-9:       vector.load
// CHECK:               vector.store
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-COUNT-2:       vector.load
// CHECK:               vector.store

// CHECK-LABEL: func.func private @kernel_1
// CHECK:         %[[APART:.*]] = memref.alloca() : memref<512xf32>
// CHECK:         scf.forall
// CHECK:           %[[STRIP:.*]] = arith.constant 256 : index
// CHECK:           scf.for {{.*}} step %[[STRIP]] {
// CHECK:             scf.for
// CHECK:               vector.store %{{.*}}, %[[APART]]
// CHECK:             scf.for {{.*}} step %c8
// CHECK:               scf.for
// CHECK:                 vector.load %[[APART]]
// CHECK-COUNT-8:         vector.load
// CHECK:                 vector.store %{{.*}}, %[[APART]]
// CHECK:             scf.for
// CHECK:               %[[PART:.*]] = vector.load %[[APART]]
// CHECK:               arith.addf %{{.*}}, %[[PART]]
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<250x1024xf32>, %y: tensor<1000x1024xf32>)
    -> (tensor<1024xf32>, tensor<1024xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<250x1024xf32>) outs(%f : tensor<1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<1024xf32>
  %t = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<1000x1024xf32>) outs(%f : tensor<1024xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<1024xf32>
  return %s, %t : tensor<1024xf32>, tensor<1024xf32>
}
