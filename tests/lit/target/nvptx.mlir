// An iteration of the parallel loop is a block of threads.
//
// RUN: ltc-opt %s --target=nvptx --stop-after=optimize | FileCheck %s
// RUN: ltc-opt %s --target=nvptx --stop-after=codegen --print-code | FileCheck %s --check-prefix=PTX
// RUN: ltc-opt %s --target=nvptx --stop-after=codegen --print-steps | FileCheck %s --check-prefix=STEPS
// RUN: ltc-opt %s --target=nvptx --cpu=sm_90:+ptx80 --stop-after=codegen --print-code | FileCheck %s --check-prefix=SM90
//
// Pointwise: a thread has two vectors of 16 bytes, and loads them at once.
// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:    ltc.threads = 256
// CHECK:         scf.forall {{.*}} to (8192) step (2048)
// CHECK:           gpu.thread_id x
// CHECK-COUNT-2:   vector.load {{.*}} vector<4xf32>
// CHECK-COUNT-2:   vector.store {{.*}} vector<4xf32>
// CHECK-NOT:       gpu.barrier
//
// A row: each thread adds up its share, shuffles and shared memory add those.
// CHECK-LABEL: func.func private @kernel_1
// CHECK-SAME:    ltc.threads = 64
// CHECK:         memref.alloca() : memref<2xf32>
// CHECK:         scf.forall {{.*}} in (32)
// CHECK-COUNT-4:   vector.load {{.*}} vector<4xf32>
// CHECK-COUNT-4:   arith.addf {{.*}} vector<4xf32>
// CHECK-COUNT-5:   gpu.shuffle xor
// CHECK-NOT:       gpu.barrier
// CHECK:           scf.if
// CHECK:             memref.store {{.*}} memref<2xf32>
// CHECK:           gpu.barrier
// CHECK:           memref.load {{.*}} memref<2xf32>
// CHECK:           gpu.shuffle xor
// CHECK-NOT:       gpu.shuffle
// CHECK-NOT:       gpu.barrier
//
// Columns: 16 vectors of them, each with a team of 16 threads that add up two
// rows each.
// CHECK-LABEL: func.func private @kernel_2
// CHECK:         memref.alloca() : memref<1024xf32>
// CHECK:         scf.forall {{.*}} to (1024) step (64)
// CHECK:           gpu.thread_id x
// CHECK:             scf.for {{.*}} -> (vector<4xf32>)
// CHECK:           vector.store {{.*}} memref<1024xf32>
// CHECK:           gpu.barrier
// CHECK:           scf.if
// CHECK:             vector.load {{.*}} memref<1024xf32>
// CHECK-NOT:       gpu.shuffle
//
// Bytes of the widest element fill a vector.
// CHECK-LABEL: func.func private @kernel_3
// CHECK:           vector.load {{.*}} vector<8xbf16>

// PTX:     .target sm_80
// PTX:     .entry kernel_0_list(
// PTX:       .param .align 8 .b8 kernel_0_list_param_0[32]
// PTX:     .reqntid 256
// PTX:       %ctaid.x
// PTX:       ld.global.v4.b32
// PTX:       st.global.v4.b32
// PTX-NOT:   bar.sync
// PTX:     .entry kernel_1(
// PTX:       .shared
// PTX:       bar.sync
// PTX:       shfl.sync.bfly.b32
// PTX-NOT: .extern
// SM90:    .target sm_90

// Both pointwise kernels are one launch.
// STEPS: launch kernel_0_list pointwise (8) by 256 threads: input 0, result 0, input 2, result 3
// STEPS: launch kernel_1 row_reduce (32) by 64 threads: input 1, result 1

#map = affine_map<(d0) -> (d0)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%a: tensor<8192xf32>, %c: tensor<32x1024xf32>, %h: tensor<8192xbf16>)
    -> (tensor<8192xf32>, tensor<32xf32>, tensor<1024xf32>, tensor<8192xbf16>) {
  %e = tensor.empty() : tensor<8192xf32>
  %abs = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%a : tensor<8192xf32>) outs(%e : tensor<8192xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = math.absf %x : f32
    linalg.yield %0 : f32
  } -> tensor<8192xf32>
  %zero = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%g : tensor<32xf32>) -> tensor<32xf32>
  %rows = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<32x1024xf32>) outs(%start : tensor<32xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = arith.addf %out, %x : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %k = tensor.empty() : tensor<1024xf32>
  %begin = linalg.fill ins(%zero : f32) outs(%k : tensor<1024xf32>) -> tensor<1024xf32>
  %columns = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%c : tensor<32x1024xf32>) outs(%begin : tensor<1024xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = arith.addf %out, %x : f32
    linalg.yield %0 : f32
  } -> tensor<1024xf32>
  %f = tensor.empty() : tensor<8192xbf16>
  %neg = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%h : tensor<8192xbf16>) outs(%f : tensor<8192xbf16>) {
  ^bb0(%x: bf16, %out: bf16):
    %0 = arith.negf %x : bf16
    linalg.yield %0 : bf16
  } -> tensor<8192xbf16>
  return %abs, %rows, %columns, %neg : tensor<8192xf32>, tensor<32xf32>, tensor<1024xf32>, tensor<8192xbf16>
}
