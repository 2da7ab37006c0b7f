// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
//
// Functions in f64 are polynomials on vectors. Only sines, cosines and tangents
// of rare angles, and remainders of huge quotients, are the C library's, lane by lane, behind a branch.

// CHECK-LABEL: llvm.func @kernel_0
// CHECK-NOT: llvm.call
// CHECK: llvm.fmul %{{.*}} : vector<{{.*}}xf64>
// CHECK-NOT: @{{(atanh|cosh|erf|exp|exp2|expm1|log|log1p|log2|log10|pow|sinh|tanh)}}(
// CHECK-LABEL: llvm.func @kernel_1
// CHECK-NOT: llvm.call
// CHECK-COUNT-3: "llvm.intr.vector.reduce.or"
#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<64xf64>) -> (tensor<64xf64>, tensor<64xf64>) {
  %e = tensor.empty() : tensor<64xf64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf64>) outs(%e : tensor<64xf64>) {
  ^bb0(%x: f64, %o: f64):
    %e0 = math.exp %x : f64
    %0 = math.erf %e0 : f64
    %1 = math.expm1 %0 : f64
    %2 = math.log %1 : f64
    %3 = math.log1p %2 : f64
    %4 = math.log2 %3 : f64
    %5 = math.log10 %4 : f64
    %6 = math.tanh %5 : f64
    %7 = math.powf %6, %x : f64
    %8 = math.exp2 %7 : f64
    %9 = math.sinh %8 : f64
    %10 = math.cosh %9 : f64
    %11 = math.atanh %10 : f64
    linalg.yield %11 : f64
  } -> tensor<64xf64>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf64>) outs(%e : tensor<64xf64>) {
  ^bb0(%x: f64, %o: f64):
    %0 = math.sin %x : f64
    %1 = math.tan %0 : f64
    %2 = arith.remf %1, %x : f64
    linalg.yield %2 : f64
  } -> tensor<64xf64>
  return %r, %s : tensor<64xf64>, tensor<64xf64>
}
