// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
//
// An optimizer's update is one kernel with several results; each takes over
// the memory of the input that is donated to it. Two parameters of one shape
// share the kernel.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: memref<4096xf32>, %[[G:[a-z0-9]+]]: memref<4096xf32>, %[[M:[a-z0-9]+]]: memref<4096xf32>, %[[P2:[a-z0-9]+]]: memref<4096xf32>, %[[M2:[a-z0-9]+]]: memref<4096xf32>, %{{.*}}: memref<0xi8>)
// CHECK-NEXT:    call @[[K:.*]](%[[P]], %[[M]], %[[G]], %[[M]], %[[P]])
// CHECK-NEXT:    call @[[K]](%[[P2]], %[[M2]], %[[G]], %[[M2]], %[[P2]])
// CHECK-NEXT:    return
// CHECK:       func.func private @[[K]]
// CHECK-NOT:   func.func private
#id = affine_map<(i) -> (i)>
func.func @main(%p: tensor<4096xf32>, %g: tensor<4096xf32>, %m: tensor<4096xf32>,
                %p2: tensor<4096xf32>, %m2: tensor<4096xf32>)
    -> (tensor<4096xf32> {ltc.donates = 0 : i64}, tensor<4096xf32> {ltc.donates = 2 : i64},
        tensor<4096xf32> {ltc.donates = 3 : i64}, tensor<4096xf32> {ltc.donates = 4 : i64}) {
  %e = tensor.empty() : tensor<4096xf32>
  %nm = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%m, %g : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.constant 0.9 : f32
    %x = arith.mulf %a, %c : f32
    %r = arith.addf %x, %b : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %np = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%p, %nm : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %nm2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%m2, %g : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.constant 0.9 : f32
    %x = arith.mulf %a, %c : f32
    %r = arith.addf %x, %b : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  %np2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%p2, %nm2 : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4096xf32>
  return %np, %nm, %np2, %nm2 : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}
