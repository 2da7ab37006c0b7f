// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
//
// A divisor that the loop reads is checked inside it, each time.

// CHECK-LABEL: llvm.func @kernel_0
// CHECK: llvm.load %{{.*}} -> i32
// CHECK: %[[D:.*]] = llvm.load %{{.*}} -> i32
// CHECK: %[[BAD:.*]] = llvm.icmp "eq" %[[D]], %{{.*}} : i32
// CHECK: llvm.cond_br %[[BAD]]
// CHECK: llvm.call @ltc_value_error
// CHECK: llvm.sdiv
// CHECK: llvm.func @ltc_value_error(i64) attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = readwrite
#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<4xi32>, %d: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%a, %d : tensor<4xi32>, tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %s = ltc.check_divisor %y {site = 0 : i64} : i32
    %v = arith.divsi %x, %s : i32
    linalg.yield %v : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}
