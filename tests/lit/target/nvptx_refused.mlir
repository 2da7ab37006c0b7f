// A function that the C library has to compute for rare arguments has no code.
//
// RUN: not ltc-opt %s --target=nvptx --stop-after=codegen 2>&1 | FileCheck %s
// RUN: not ltc-opt %s --target=nvptx_emulated --stop-after=codegen 2>&1 | FileCheck %s

// CHECK: there is no code for a GPU for the function sin

#map = affine_map<(d0) -> (d0)>
func.func @main(%a: tensor<64xf64>) -> tensor<64xf64> {
  %e = tensor.empty() : tensor<64xf64>
  %sin = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf64>) outs(%e : tensor<64xf64>) {
  ^bb0(%x: f64, %out: f64):
    %0 = math.sin %x : f64
    linalg.yield %0 : f64
  } -> tensor<64xf64>
  return %sin : tensor<64xf64>
}
