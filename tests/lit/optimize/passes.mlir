// Each step of the stage is a pass that runs alone.
//
// RUN: ltc-opt %s --ltc-fuse | FileCheck %s --check-prefix=FUSE
// RUN: ltc-opt %s --pass-pipeline='builtin.module(ltc-fuse,ltc-outline)' | FileCheck %s --check-prefix=OUTLINE
// RUN: ltc-opt %s --ltc-fuse --ltc-outline --ltc-schedule | FileCheck %s --check-prefix=SCHEDULE
// RUN: ltc-opt %s --ltc-outline | FileCheck %s --check-prefix=ALONE
// RUN: ltc-opt %s --without=fuse --ltc-fuse | FileCheck %s --check-prefix=WITHOUT
//
// All of them are the stage.
// RUN: ltc-opt %s --ltc-optimize > %t.passes
// RUN: ltc-opt %s --stop-after=optimize | ltc-opt > %t.stage
// RUN: diff %t.passes %t.stage
//
// RUN: not ltc-opt %s --target=abacus --ltc-fuse 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not ltc-opt %s --target=abacus --stop-after=optimize 2>&1 | FileCheck %s --check-prefix=KIND

// FUSE-LABEL: func.func @main
// FUSE:       linalg.generic
// FUSE:         arith.addf
// FUSE:         math.absf
// FUSE-NOT:   linalg.generic

// OUTLINE-LABEL: func.func @main
// OUTLINE:       call @[[KERNEL:[a-z_0-9]+]](
// OUTLINE:       func.func private @[[KERNEL]](
// OUTLINE-SAME:  ltc.kind = "pointwise"
// OUTLINE-NOT:   scf.forall

// SCHEDULE:      ltc.kind = "pointwise"
// SCHEDULE:      scf.forall (%{{.+}}) = (0) to (10000) step (

// Nothing was fused: two loops, which share their rows.
// ALONE:         ltc.kind = "pointwise"
// ALONE:         linalg.generic
// ALONE:         linalg.generic

// WITHOUT:       linalg.generic
// WITHOUT:       linalg.generic

// KIND: no code generator for target kind 'abacus'
// KIND: the kinds that it has are: {{.*}}cpu

#map = affine_map<(d0) -> (d0)>
func.func @main(%a: tensor<10000xf32>, %b: tensor<10000xf32>) -> tensor<10000xf32> {
  %init = tensor.empty() : tensor<10000xf32>
  %sum = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<10000xf32>, tensor<10000xf32>) outs(%init : tensor<10000xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<10000xf32>
  %abs = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%sum : tensor<10000xf32>) outs(%init : tensor<10000xf32>) {
  ^bb0(%x: f32, %out: f32):
    %0 = math.absf %x : f32
    linalg.yield %0 : f32
  } -> tensor<10000xf32>
  return %abs : tensor<10000xf32>
}
