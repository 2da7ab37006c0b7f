// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
//
// With the divisor goes whatever the loop does not change in front of the loop, be
// it the op behind the check.

// CHECK-LABEL: llvm.func @kernel_0
// CHECK: %[[D:.*]] = llvm.trunc %{{.*}} : i64 to i32
// CHECK: llvm.mul %[[D]], %[[D]] : i32
// CHECK: llvm.call @ltc_value_error
// CHECK: llvm.load %{{.*}} -> i32
// CHECK: llvm.sdiv
#id = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>
func.func @main(%a: tensor<4xi32>, %d: i64) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [#id, #scalar, #id], iterator_types = ["parallel"]}
      ins(%a, %d : tensor<4xi32>, i64) outs(%e : tensor<4xi32>) {
  ^bb0(%x: i32, %n: i64, %o: i32):
    %y = arith.trunci %n : i64 to i32
    %s = ltc.check_divisor %y {site = 0 : i64} : i32
    %z = arith.muli %y, %y : i32
    %v = arith.divsi %x, %s : i32
    %w = arith.addi %v, %z : i32
    linalg.yield %w : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}
