// RUN: ltc-opt %s --ltc-lower | FileCheck %s

// A lowering that came with the op takes its place, with the op's sizes.
// CHECK-LABEL: func.func @main
// CHECK-NOT: ltc.op
// CHECK-NOT: tensor<?
// CHECK: linalg.generic
// CHECK: arith.addf %{{.*}} : f32
// CHECK: return %{{.*}} : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = ltc.op "mine::twice"(x = %x, lowering = "func.func @twice(%a: tensor<?xf32>) -> tensor<?xf32> { %b = linalg.add ins(%a, %a : tensor<?xf32>, tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32> return %b : tensor<?xf32> }") node 0
      : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
