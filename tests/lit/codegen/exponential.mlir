// RUN: ltc-opt %s --stop-after=codegen --cpu=x86-64-v4:+avx512f,+avx512vl,+avx512bw,+avx512dq | FileCheck %s --check-prefixes=CHECK,SCALE
// RUN: ltc-opt %s --stop-after=codegen --cpu=x86-64-v3:+avx2,+fma | FileCheck %s --check-prefixes=CHECK,APART
//
// An exponential ends in one instruction with AVX-512, and in products by two
// powers of two without. None is a call.

// CHECK-LABEL: llvm.func @kernel_0
// CHECK-NOT: llvm.call @
// SCALE: llvm.trunc %{{.*}} : vector<[[LANES:[0-9]+]]xi64> to vector<[[LANES]]xi32>
// SCALE-NEXT: llvm.call_intrinsic "llvm.ldexp"({{.*}}) : (vector<[[LANES]]xf64>, vector<[[LANES]]xi32>) -> vector<[[LANES]]xf64>
// APART-NOT: llvm.call_intrinsic
// APART: llvm.ashr
// APART-COUNT-2: llvm.shl
// CHECK-LABEL: llvm.func @kernel_1
// CHECK-NOT: llvm.call @
// SCALE: llvm.call_intrinsic "llvm.ldexp"({{.*}}) : (vector<[[LANES:[0-9]+]]xf32>, vector<[[LANES]]xi32>) -> vector<[[LANES]]xf32>
// APART-NOT: llvm.call_intrinsic
// APART: llvm.ashr
// APART-COUNT-2: llvm.shl
#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<64xf64>, %b: tensor<64xf32>) -> (tensor<64xf64>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf64>) outs(%e : tensor<64xf64>) {
  ^bb0(%x: f64, %o: f64):
    %0 = math.exp %x : f64
    linalg.yield %0 : f64
  } -> tensor<64xf64>
  %f = tensor.empty() : tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%b : tensor<64xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = math.exp %x : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %r, %s : tensor<64xf64>, tensor<64xf32>
}
