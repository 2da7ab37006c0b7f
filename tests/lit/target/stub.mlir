// A target is a folder that nothing else names: the CPU's code for two threads
// and vectors of eight floats.
//
// RUN: ltc-opt %s --target=stub --print-schedules | FileCheck %s --check-prefix=PRINT
// RUN: ltc-opt %s --target=stub --stop-after=optimize | FileCheck %s
// RUN: ltc-opt %s --target=stub --stop-after=codegen | FileCheck %s --check-prefix=CODE
//
// It has recipes of its own.
// RUN: rm -rf %t && mkdir %t
// RUN: echo "[pointwise]" > %t/stub.recipe
// RUN: echo "tile = 64" >> %t/stub.recipe
// RUN: ltc-opt %s --target=stub --recipes=%t --print-schedules | FileCheck %s --check-prefix=RECIPE
// RUN: ltc-opt %s --target=cpu --recipes=%t --print-schedules | FileCheck %s --check-prefix=CPU

// PRINT: target: vector_bits=256 enough_parts=2
// PRINT: pointwise f32 tile=1024 (stub)

// CHECK: scf.forall {{.*}} to (3000) step (1024)
// CHECK: vector.load {{.*}} vector<8xf32>

// CODE: llvm.load {{.*}} -> vector<8xf32>

// RECIPE: pointwise f32 tile=64 (stub.recipe:2)
// CPU:    pointwise f32 tile=4096 wide_tile

#map = affine_map<(d0) -> (d0)>
func.func @main(%a: tensor<3000xf32>) -> tensor<3000xf32> {
  %e = tensor.empty() : tensor<3000xf32>
  %abs = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%a : tensor<3000xf32>) outs(%e : tensor<3000xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = math.absf %x : f32
    linalg.yield %0 : f32
  } -> tensor<3000xf32>
  return %abs : tensor<3000xf32>
}
