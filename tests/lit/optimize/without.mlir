// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// RUN: ltc-opt %s --stop-after=optimize --without=fuse,group,vectorize | FileCheck %s --check-prefix=PLAIN
// RUN: not ltc-opt %s --stop-after=optimize --without=fusion 2>&1 | FileCheck %s --check-prefix=NONE
//
// Each optimization can be left out by name.

// CHECK:         vector.load
// CHECK-NOT:     kernel_1
// PLAIN-NOT:     vector.load
// PLAIN:         @kernel_1
// NONE:          'fusion' is no optimization
// NONE:          the optimizations are accumulate fuse group im2col in_place loops reuse vectorize winograd
#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %e = tensor.empty() : tensor<1024xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<1024xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = math.sqrt %v : f32
    linalg.yield %r : f32
  } -> tensor<1024xf32>
  return %b : tensor<1024xf32>
}
