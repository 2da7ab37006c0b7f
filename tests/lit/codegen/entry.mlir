// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
//
// The entry point unpacks descriptors into words and starts kernels; a small
// one runs on the calling thread, a large one through ltc_parallel_for.

// CHECK-LABEL: llvm.func @ltc_entry(%{{.*}}: !llvm.ptr)
// CHECK:         %[[BODY:.*]] = llvm.mlir.addressof @kernel_1
// CHECK:         llvm.call @kernel_0
// CHECK:         llvm.call @ltc_parallel_for({{.*}}, %[[BODY]],
// CHECK-LABEL: llvm.func @kernel_0(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK-NOT:     llvm.call @malloc
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
