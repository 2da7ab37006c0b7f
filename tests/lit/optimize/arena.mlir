// RUN: ltc-opt %s --stop-after=optimize | FileCheck %s
// RUN: ltc-opt %s --stop-after=optimize --without=reuse | FileCheck %s --check-prefix=OWN
//
// Temporaries are slices of one arena; one that is dead gives way to a later
// one: three products of 256 bytes fit into 512.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<8x8xf32>, %[[OUT:[a-z0-9]+]]: memref<8x8xf32>, %[[ARENA:[a-z0-9]+]]: memref<512xi8>)
// CHECK:         %[[A:.*]] = memref.view %[[ARENA]]
// CHECK-NEXT:    ltc.call "aten::mm"(self = %[[X]], {{.*}} outs(%[[A]]
// CHECK-NEXT:    %[[B:.*]] = memref.view %[[ARENA]]
// CHECK-NEXT:    ltc.call "aten::mm"(self = %[[A]], {{.*}} outs(%[[B]]
// CHECK-NEXT:    ltc.call "aten::mm"(self = %[[B]], {{.*}} outs(%[[A]]
// CHECK-NEXT:    ltc.call "aten::mm"(self = %[[A]], {{.*}} outs(%[[OUT]]
// CHECK-NOT:     memref.alloc
// OWN:           memref<768xi8>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %a = ltc.call "aten::mm"(self = %x, mat2 = %x) : (tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>)
  %b = ltc.call "aten::mm"(self = %a, mat2 = %a) : (tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>)
  %c = ltc.call "aten::mm"(self = %b, mat2 = %b) : (tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>)
  %d = ltc.call "aten::mm"(self = %c, mat2 = %c) : (tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>)
  return %d : tensor<8x8xf32>
}
