// What a file says of a target, of a kind of kernel and of a dtype decides over
// the loops; what it says of one CPU wins.
//
// RUN: rm -rf %t && mkdir %t
// RUN: echo "# tuned by hand"            >  %t/cpu.recipe
// RUN: echo "[target]"                   >> %t/cpu.recipe
// RUN: echo "vector_bits = 128"          >> %t/cpu.recipe
// RUN: echo "[pointwise]  # of any dtype" >> %t/cpu.recipe
// RUN: echo "tile = 512"                 >> %t/cpu.recipe
// RUN: echo "[pointwise f64]"            >> %t/cpu.recipe
// RUN: echo "tile = 256"                 >> %t/cpu.recipe
// RUN: echo "[row_reduce]"               >> %t/cpu.recipe
// RUN: echo "unroll = 2"                 >> %t/cpu.recipe
// RUN: echo "[row_reduce]"               >  %t/cpu.x86-64-v3.recipe
// RUN: echo "unroll = 1"                 >> %t/cpu.x86-64-v3.recipe
// RUN: ltc-opt %s --recipes=%t --print-schedules | FileCheck %s --check-prefix=PRINT
// RUN: ltc-opt %s --recipes=%t --stop-after=optimize | FileCheck %s
// RUN: ltc-opt %s --recipes=%t --print-schedules --cpu=x86-64-v3:+avx2 | FileCheck %s --check-prefix=V3
//
// An empty directory changes nothing.
// RUN: rm -rf %t.none && mkdir %t.none
// RUN: ltc-opt %s --recipes=%t.none --print-schedules | FileCheck %s --check-prefix=NONE

// PRINT:      target: vector_bits=128 (cpu.recipe:3) enough_parts=16 stack_bytes=262144
// PRINT-NEXT: @[[ANY:.+]]: pointwise f32 tile=512 (cpu.recipe:5) wide_tile=0 cross_tile=64 {{.*}} unroll=4
// PRINT-NEXT: @[[F64:.+]]: pointwise f64 tile=256 (cpu.recipe:7) wide_tile=0 cross_tile=64 {{.*}} unroll=4
// PRINT-NEXT: @[[ROWS:.+]]: row_reduce f32 tile=1 {{.*}} unroll=2 (cpu.recipe:9)
// PRINT-NOT:  func.func

// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:    ltc.schedule = {tile = 512 : i64}
// CHECK:         scf.forall {{.*}} to (8192) step (512)
// CHECK:           vector.load {{.*}} vector<4xf32>
// CHECK-LABEL: func.func private @kernel_1
// CHECK:         scf.forall {{.*}} to (8192) step (256)
// CHECK-LABEL: func.func private @kernel_2
// CHECK-SAME:    ltc.schedule = {unroll = 2 : i64}
// CHECK:         scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>) {

// V3:      pointwise f32 tile=512 (cpu.recipe:5)
// V3:      row_reduce f32 {{.*}} unroll=1 (cpu.x86-64-v3.recipe:2)

// NONE-NOT: recipe:

#map = affine_map<(d0) -> (d0)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%a: tensor<8192xf32>, %b: tensor<8192xf64>, %c: tensor<32x999xf32>) -> (tensor<8192xf32>, tensor<8192xf64>, tensor<32xf32>) {
  %e = tensor.empty() : tensor<8192xf32>
  %abs = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%a : tensor<8192xf32>) outs(%e : tensor<8192xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = math.absf %x : f32
    linalg.yield %0 : f32
  } -> tensor<8192xf32>
  %f = tensor.empty() : tensor<8192xf64>
  %neg = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%b : tensor<8192xf64>) outs(%f : tensor<8192xf64>) {
  ^bb0(%x: f64, %out: f64):
    %0 = arith.negf %x : f64
    linalg.yield %0 : f64
  } -> tensor<8192xf64>
  %zero = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%g : tensor<32xf32>) -> tensor<32xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<32x999xf32>) outs(%start : tensor<32xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = arith.addf %out, %x : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  return %abs, %neg, %sum : tensor<8192xf32>, tensor<8192xf64>, tensor<32xf32>
}
