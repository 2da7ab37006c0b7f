// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
// RUN: ltc-opt %s --stop-after=codegen --print-steps | FileCheck %s --check-prefix=STEPS
//
// @main becomes a list of steps; what is left are kernels. A small one runs on
// the calling thread, a large one in pieces that are worth a thread.

// CHECK-NOT:     @main
// CHECK-LABEL: llvm.func @kernel_0(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK-NOT:     llvm.call @malloc
// CHECK-LABEL: llvm.func @kernel_1
// STEPS:      arena 0: 0 bytes
// STEPS-NEXT: launch kernel_0 pointwise once: input 0, result 0
// STEPS-NEXT: launch kernel_1 pointwise (1048576 by 4096) grain {{[0-9]+}}: input 1, result 1
// STEPS-NOT:  {{.}}
#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<64xf32>, %y: tensor<1048576xf32>) -> (tensor<64xf32>, tensor<1048576xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %f = tensor.empty() : tensor<1048576xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.addf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%y : tensor<1048576xf32>) outs(%f : tensor<1048576xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.mulf %v, %v : f32
    linalg.yield %r : f32
  } -> tensor<1048576xf32>
  return %a, %b : tensor<64xf32>, tensor<1048576xf32>
}
