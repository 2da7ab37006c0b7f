// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
//
// A polynomial on vectors instead of the C library's function lane by lane.

// CHECK-LABEL: llvm.func @kernel_0
// CHECK-NOT: llvm.call
// CHECK: llvm.fmul %{{.*}} : vector<{{.*}}xf64>
// CHECK-NOT: @exp
#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<64xf64>) -> tensor<64xf64> {
  %e = tensor.empty() : tensor<64xf64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf64>) outs(%e : tensor<64xf64>) {
  ^bb0(%x: f64, %o: f64):
    %y = math.exp %x : f64
    linalg.yield %y : f64
  } -> tensor<64xf64>
  return %r : tensor<64xf64>
}
