// RUN: ltc-opt %s --stop-after=codegen | FileCheck %s
//
// What a value is checked for is one branch for all lanes of a vector. Lanes that
// are masked off hold whatever they do.

// CHECK-LABEL: llvm.func @kernel_0
// CHECK: %[[HOLDS:.*]] = llvm.fcmp "oge" %{{.*}} : vector<[[LANES:[0-9]+]]xf32>
// CHECK: %[[ALL:.*]] = "llvm.intr.vector.reduce.and"(%[[HOLDS]])
// CHECK: %[[BAD:.*]] = llvm.xor %[[ALL]]
// CHECK: llvm.cond_br %[[BAD]]
// CHECK: llvm.call @ltc_value_error(%{{.*}}) : (i64) -> ()
// CHECK: %[[LAST:.*]] = llvm.intr.masked.load
// CHECK: %[[HOLDS:.*]] = llvm.fcmp "oge" %[[LAST]], %{{.*}} : vector<[[LANES]]xf32>
// CHECK: %[[EITHER:.*]] = llvm.or %[[HOLDS]], %{{.*}} : vector<[[LANES]]xi1>
// CHECK: "llvm.intr.vector.reduce.and"(%[[EITHER]])
// CHECK: llvm.call @ltc_value_error
// CHECK: llvm.func @ltc_value_error(i64) attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = readwrite
#id = affine_map<(i) -> (i)>
func.func @main(%a: tensor<1003xf32>) -> tensor<1003xf32> {
  %e = tensor.empty() : tensor<1003xf32>
  %zero = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<1003xf32>) outs(%e : tensor<1003xf32>) {
  ^bb0(%x: f32, %o: f32):
    %holds = arith.cmpf oge, %x, %zero : f32
    %same = ltc.check %x, %holds "must not be negative" {site = 0 : i64} : f32
    %root = math.sqrt %same : f32
    linalg.yield %root : f32
  } -> tensor<1003xf32>
  return %r : tensor<1003xf32>
}
