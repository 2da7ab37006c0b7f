// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// A maximum with its index keeps a candidate in each lane; those of two lanes
// meet as two elements do, first by value, then by index.

// CHECK-LABEL: func.func private @kernel_0
// CHECK:         scf.for
// CHECK:           vector.load {{.*}} vector<[[LANES:[0-9]+]]xf32>
// CHECK:           arith.select {{.*}} : vector<[[LANES]]xi1>, vector<[[LANES]]xi64>
// CHECK:         arith.select {{.*}} : vector<1xi1>, vector<1xi64>
// CHECK:         arith.select {{.*}} : i64
// CHECK:         memref.store
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<64x512xf32>) -> tensor<64xi64> {
  %low = arith.constant 0xFF800000 : f32
  %last = arith.constant 9223372036854775807 : i64
  %best = tensor.empty() : tensor<64xf32>
  %where = tensor.empty() : tensor<64xi64>
  %b0 = linalg.fill ins(%low : f32) outs(%best : tensor<64xf32>) -> tensor<64xf32>
  %w0 = linalg.fill ins(%last : i64) outs(%where : tensor<64xi64>) -> tensor<64xi64>
  %m:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x512xf32>) outs(%b0, %w0 : tensor<64xf32>, tensor<64xi64>) {
  ^bb0(%a: f32, %b: f32, %w: i64):
    %j = linalg.index 1 : index
    %at = arith.index_cast %j : index to i64
    %better = arith.cmpf ogt, %a, %b : f32
    %same = arith.cmpf oeq, %a, %b : f32
    %before = arith.cmpi slt, %at, %w : i64
    %first = arith.andi %same, %before : i1
    %take = arith.ori %better, %first : i1
    %nb = arith.select %take, %a, %b : f32
    %nw = arith.select %take, %at, %w : i64
    linalg.yield %nb, %nw : f32, i64
  } -> (tensor<64xf32>, tensor<64xi64>)
  return %m#1 : tensor<64xi64>
}

// Where the later of two equals would win, the order of lanes would show.

// RUN: sed 's/cmpi slt/cmpi sgt/' %s | ltc-opt --stop-after=optimize | FileCheck --check-prefix=ORDER %s
// ORDER-NOT: vector.load
