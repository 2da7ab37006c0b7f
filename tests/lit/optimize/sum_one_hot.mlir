// RUN: ltc-opt %s --ltc-fuse | FileCheck %s
//
// A row that is zero but for one element has the sum of that element: where
// its class lies in the row and the other conditions hold, in all widths. What
// is zero in other places is added up.

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @main
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK:           %[[CLASS:.+]] = tensor.extract %arg0
// CHECK:           %[[INSIDE:.+]] = arith.cmpi ult, %[[CLASS]], %{{.*}} : i64
// CHECK:           arith.andi %[[INSIDE]]
// CHECK:           arith.select
// CHECK:           arith.truncf
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
func.func @main(%classes: tensor<9xi64>, %weights: tensor<9xf32>, %spread: tensor<40xi64>)
    -> (tensor<9xbf16>, tensor<9xf32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : bf16
  %ignored = arith.constant -100 : i64
  %empty = tensor.empty() : tensor<9x40xbf16>
  %rows = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%weights : tensor<9xf32>) outs(%empty : tensor<9x40xbf16>) {
  ^bb0(%weight: f32, %out: bf16):
    %row = linalg.index 0 : index
    %column = linalg.index 1 : index
    %class = tensor.extract %classes[%row] : tensor<9xi64>
    %place = arith.index_cast %column : index to i64
    %is_valid = arith.cmpi ne, %class, %ignored : i64
    %is_here = arith.cmpi eq, %place, %class : i64
    %both = arith.andi %is_valid, %is_here : i1
    %value = arith.select %both, %weight, %zero : f32
    %narrow = arith.truncf %value : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<9x40xbf16>
  %start = tensor.empty() : tensor<9xbf16>
  %filled = linalg.fill ins(%none : bf16) outs(%start : tensor<9xbf16>) -> tensor<9xbf16>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%rows : tensor<9x40xbf16>) outs(%filled : tensor<9xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %added = arith.addf %out, %in : bf16
    linalg.yield %added : bf16
  } -> tensor<9xbf16>

  // Two columns may have the same number.
  %empty2 = tensor.empty() : tensor<9x40xf32>
  %rows2 = linalg.generic {indexing_maps = [#row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%classes, %spread : tensor<9xi64>, tensor<40xi64>) outs(%empty2 : tensor<9x40xf32>) {
  ^bb0(%class: i64, %number: i64, %out: f32):
    %one = arith.constant 1.0 : f32
    %is_here = arith.cmpi eq, %number, %class : i64
    %value = arith.select %is_here, %one, %zero : f32
    linalg.yield %value : f32
  } -> tensor<9x40xf32>
  %start2 = tensor.empty() : tensor<9xf32>
  %filled2 = linalg.fill ins(%zero : f32) outs(%start2 : tensor<9xf32>) -> tensor<9xf32>
  %sum2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%rows2 : tensor<9x40xf32>) outs(%filled2 : tensor<9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %added = arith.addf %out, %in : f32
    linalg.yield %added : f32
  } -> tensor<9xf32>
  return %sum, %sum2 : tensor<9xbf16>, tensor<9xf32>
}
