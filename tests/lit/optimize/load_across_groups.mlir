// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// A row reduction that loads rows of another one's result, and an op that reads
// both row by row. One loop over rows cannot hold all three: the second
// reduction may need a row that is not made yet.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @main
// CHECK: call @kernel_0
// CHECK: call @kernel_1
// CHECK: return
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>)
      -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%fill : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<8x16xf32>, tensor<8xf32>)
      outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %a = arith.divf %in, %s : f32
    linalg.yield %a : f32
  } -> tensor<8x16xf32>
  %mirrored = linalg.generic {indexing_maps = [#id, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%fill : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %c7 = arith.constant 7 : index
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.subi %c7, %i : index
    %a = tensor.extract %p[%k, %j] : tensor<8x16xf32>
    %b = arith.addf %a, %out : f32
    linalg.yield %b : f32
  } -> tensor<8xf32>
  %result = linalg.generic {indexing_maps = [#id, #row, #id],
      iterator_types = ["parallel", "parallel"]}
      ins(%p, %mirrored : tensor<8x16xf32>, tensor<8xf32>)
      outs(%e : tensor<8x16xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %a = arith.mulf %in, %s : f32
    linalg.yield %a : f32
  } -> tensor<8x16xf32>
  return %result : tensor<8x16xf32>
}

// CHECK-LABEL: func.func private @kernel_0
// CHECK: arith.divf
// CHECK-NOT: arith.mulf
// CHECK-LABEL: func.func private @kernel_1
