// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A softmax is one kernel: one parallel loop over its rows, whose intermediate
// values stay on the stack, so that @main needs no arena.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<64x512xf32>, %[[OUT:[a-z0-9]+]]: memref<64x512xf32>, %{{.*}}: memref<0xi8>)
// CHECK-NEXT:    call @[[KERNEL:.*]](%[[X]], %[[OUT]])
// CHECK-NEXT:    return
// CHECK:       func.func private @[[KERNEL]]
// CHECK-SAME:    ltc.kind = "row_reduce"
// CHECK:         memref.alloca
// CHECK:         scf.forall ({{.*}}) in (64)
// CHECK:           vector.reduction <maximumf>
// CHECK:           vector.reduction <add>
// CHECK-NOT:     scf.forall
// CHECK-NOT:     memref.copy
// CHECK-NOT:     memref.alloc(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %rows = tensor.empty() : tensor<64xf32>
  %all = tensor.empty() : tensor<64x512xf32>
  %m0 = linalg.fill ins(%low : f32) outs(%rows : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x512xf32>) outs(%m0 : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %e = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<64x512xf32>, tensor<64xf32>) outs(%all : tensor<64x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<64x512xf32>) outs(%s0 : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%e, %s : tensor<64x512xf32>, tensor<64xf32>) outs(%all : tensor<64x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<64x512xf32>
  return %p : tensor<64x512xf32>
}
