// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A sum over rows is parallel over blocks of columns, with the sums of a block
// in registers.

// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:    ltc.kind = "column_reduce"
// CHECK:         scf.forall ({{.*}}) = (0) to (512) step (128)
// CHECK:           scf.for {{.*}} iter_args({{.*}}vector<{{[0-9]+}}xf32>
// CHECK:             vector.load
// CHECK:             arith.addf
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<256x512xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<256x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  return %s : tensor<512xf32>
}
