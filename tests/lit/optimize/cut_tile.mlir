// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// Columns are summed in tiles of 128, the last of 144 columns in one of 16. The
// sums are no result; they wait on the stack, in memory for a whole tile.

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#all = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func private @kernel_0
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<512xi8>
// CHECK: memref.view {{.*}} : memref<512xi8> to memref<?xf32>
func.func @main(%x: tensor<8x144xf32>)
    -> (tensor<144xf32>, tensor<144xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<144xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<144xf32>)
      -> tensor<144xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x144xf32>) outs(%fill : tensor<144xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<144xf32>
  %root = linalg.generic {indexing_maps = [#all, #all],
      iterator_types = ["parallel"]}
      ins(%sum : tensor<144xf32>) outs(%e : tensor<144xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.sqrt %in : f32
    linalg.yield %a : f32
  } -> tensor<144xf32>
  %exp = linalg.generic {indexing_maps = [#all, #all],
      iterator_types = ["parallel"]}
      ins(%sum : tensor<144xf32>) outs(%e : tensor<144xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.exp %in : f32
    linalg.yield %a : f32
  } -> tensor<144xf32>
  return %root, %exp : tensor<144xf32>, tensor<144xf32>
}
