// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// An operand that runs across the others is read in squares of vectors, from
// tiles in which its lines stay cached. What does not fill a square is gathered.
// A result that runs across the others is written so.

// CHECK-LABEL: func.func private @kernel_0
// CHECK:         scf.forall {{.*}} step (64, 64)
// CHECK:           vector.shuffle
// CHECK-NOT:       vector.gather
// CHECK:         return

// CHECK-LABEL: func.func private @kernel_1
// CHECK:           vector.shuffle
// CHECK:           vector.gather
// CHECK:         return

// CHECK-LABEL: func.func private @kernel_2
// CHECK:         scf.forall {{.*}} step (64, 64)
// CHECK-NOT:       memref.load
// CHECK:           vector.shuffle
// CHECK:           vector.scatter
// CHECK:         return
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
func.func @main(%x: tensor<256x128xf32>, %y: tensor<128x256xf32>, %z: tensor<83x70xf32>,
                %u: tensor<83x70xf32>, %v: tensor<83x70xf32>)
    -> (tensor<256x128xf32>, tensor<70x83xf32>, tensor<83x70xf32>, tensor<70x83xf32>) {
  %a = tensor.empty() : tensor<256x128xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<256x128xf32>, tensor<128x256xf32>) outs(%a : tensor<256x128xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<256x128xf32>
  %b = tensor.empty() : tensor<70x83xf32>
  %copy = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<83x70xf32>) outs(%b : tensor<70x83xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<70x83xf32>
  %c = tensor.empty() : tensor<83x70xf32>
  %both = linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%u, %v : tensor<83x70xf32>, tensor<83x70xf32>) outs(%c : tensor<83x70xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<83x70xf32>
  %d = tensor.empty() : tensor<70x83xf32>
  %turned = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%both : tensor<83x70xf32>) outs(%d : tensor<70x83xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<70x83xf32>
  return %sum, %copy, %both, %turned
      : tensor<256x128xf32>, tensor<70x83xf32>, tensor<83x70xf32>, tensor<70x83xf32>
}
