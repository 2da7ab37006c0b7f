// RUN: ltc-opt %s --eliminate-empty-tensors --empty-tensor-to-alloc-tensor --one-shot-bufferize --canonicalize --cse | FileCheck %s

// The call writes straight into the function's buffer and reads its first
// operand transposed in place: nothing is copied, nothing else is allocated.

// CHECK-LABEL: func.func @in_place
// CHECK-SAME: (%[[A:.*]]: memref<8x4xf32>, %[[O:.*]]: memref<4x2xf32>)
func.func @in_place(%am: memref<8x4xf32>, %om: memref<4x2xf32>) {
  // CHECK: %[[B:.*]] = memref.alloc() {{.*}}: memref<8x2xf32>
  // CHECK: ltc.call "aten::rand"() : () outs(%[[B]] : memref<8x2xf32>)
  // CHECK: %[[T:.*]] = memref.transpose %[[A]] (d0, d1) -> (d1, d0)
  // CHECK: ltc.call "aten::mm"(self = %[[T]], mat2 = %[[B]]) node 4 : (memref<4x8xf32, strided<[1, 4]>>, memref<8x2xf32>) outs(%[[O]] : memref<4x2xf32>)
  // CHECK-NOT: memref.alloc
  // CHECK-NOT: memref.copy
  %a = bufferization.to_tensor %am restrict : memref<8x4xf32> to tensor<8x4xf32>
  %e0 = tensor.empty() : tensor<8x2xf32>
  %b = ltc.call "aten::rand"() : () outs(%e0 : tensor<8x2xf32>)
  %e1 = tensor.empty() : tensor<4x2xf32>
  %r = ltc.call "aten::mm"(self = %a, mat2 = %b) node 4 {permutations = [array<i64: 1, 0>, array<i64>]}
    : (tensor<8x4xf32>, tensor<8x2xf32>) outs(%e1 : tensor<4x2xf32>)
  bufferization.materialize_in_destination %r in restrict writable %om : (tensor<4x2xf32>, memref<4x2xf32>) -> ()
  return
}
