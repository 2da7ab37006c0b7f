// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
//
// An index check is a comparison and a call that touches no memory of ours.

// CHECK: llvm.func @ltc_index_error(i64, i64, i64) attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = readwrite
#id = affine_map<(i) -> (i)>
func.func @main(%i: tensor<4xi64>, %t: tensor<10xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %bound = arith.constant 10 : index
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%i : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: i64, %o: f32):
    %n = arith.index_cast %a : i64 to index
    %s = ltc.check_index %n, %bound {site = 0 : i64, wrap}
    %v = tensor.extract %t[%s] : tensor<10xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
