// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @_stack(
func.func @_stack(%a0: tensor<2xf32>, %a1: tensor<2xf32>) -> (tensor<2x2xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: tensor.insert_slice
  %r = ltc.op "aten::_stack"(tensors = [%a0, %a1], dim = 1 : i64) node 0
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>)
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @pixel_shuffle(
func.func @pixel_shuffle(%a0: tensor<1x9x2x2xf32>) -> (tensor<1x9x2x2xf32>) {
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.expand_shape
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::pixel_shuffle"(self = %a0, upscale_factor = 1 : i64) node 0
    : (tensor<1x9x2x2xf32>) -> (tensor<1x9x2x2xf32>)
  return %r : tensor<1x9x2x2xf32>
}

// CHECK-LABEL: func.func @pixel_unshuffle(
func.func @pixel_unshuffle(%a0: tensor<1x9x2x2xf32>) -> (tensor<1x9x2x2xf32>) {
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.expand_shape
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::pixel_unshuffle"(self = %a0, downscale_factor = 1 : i64) node 0
    : (tensor<1x9x2x2xf32>) -> (tensor<1x9x2x2xf32>)
  return %r : tensor<1x9x2x2xf32>
}

// CHECK-LABEL: func.func @channel_shuffle(
func.func @channel_shuffle(%a0: tensor<2x6x3x3xf32>) -> (tensor<2x6x3x3xf32>) {
  // CHECK: tensor.expand_shape {{.*}} into tensor<2x2x3x9xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x2x3x9xf32>) outs(%{{.*}} : tensor<2x3x2x9xf32>)
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::channel_shuffle"(self = %a0, groups = 2 : i64) node 0
    : (tensor<2x6x3x3xf32>) -> (tensor<2x6x3x3xf32>)
  return %r : tensor<2x6x3x3xf32>
}

// CHECK-LABEL: func.func @native_channel_shuffle(
func.func @native_channel_shuffle(%a0: tensor<2x6x3x3xf32>) -> (tensor<2x6x3x3xf32>) {
  // CHECK: tensor.expand_shape {{.*}} into tensor<2x2x3x9xf32>
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x2x3x9xf32>) outs(%{{.*}} : tensor<2x3x2x9xf32>)
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::native_channel_shuffle"(self = %a0, groups = 2 : i64) node 0
    : (tensor<2x6x3x3xf32>) -> (tensor<2x6x3x3xf32>)
  return %r : tensor<2x6x3x3xf32>
}

// CHECK-LABEL: func.func @reflection_pad1d(
func.func @reflection_pad1d(%a0: tensor<1x3xf32>) -> (tensor<1x4xf32>) {
  // CHECK: math.absi
  // CHECK: arith.subi
  // CHECK: math.absi
  // CHECK: arith.subi
  // CHECK: tensor.extract
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::reflection_pad1d"(self = %a0, padding = array<i64: 0, 1>) node 0
    : (tensor<1x3xf32>) -> (tensor<1x4xf32>)
  return %r : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @reflection_pad2d(
func.func @reflection_pad2d(%a0: tensor<3x3x5x5xf32>) -> (tensor<3x3x6x7xf32>) {
  // CHECK: math.absi
  // CHECK: math.absi
  // CHECK: math.absi
  // CHECK: math.absi
  // CHECK: tensor.extract
  %r = ltc.op "aten::reflection_pad2d"(self = %a0, padding = array<i64: 0, 2, 0, 1>) node 0
    : (tensor<3x3x5x5xf32>) -> (tensor<3x3x6x7xf32>)
  return %r : tensor<3x3x6x7xf32>
}

// CHECK-LABEL: func.func @reflection_pad3d(
func.func @reflection_pad3d(%a0: tensor<3x3x5x5xf32>) -> (tensor<3x5x7x7xf32>) {
  // CHECK: math.absi
  // CHECK: math.absi
  // CHECK: math.absi
  // CHECK: math.absi
  // CHECK: math.absi
  // CHECK: math.absi
  %r = ltc.op "aten::reflection_pad3d"(self = %a0, padding = array<i64: 1, 1, 1, 1, 1, 1>) node 0
    : (tensor<3x3x5x5xf32>) -> (tensor<3x5x7x7xf32>)
  return %r : tensor<3x5x7x7xf32>
}

// CHECK-LABEL: func.func @replication_pad1d(
func.func @replication_pad1d(%a0: tensor<1x3xf32>) -> (tensor<1x4xf32>) {
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: tensor.extract
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::replication_pad1d"(self = %a0, padding = array<i64: 0, 1>) node 0
    : (tensor<1x3xf32>) -> (tensor<1x4xf32>)
  return %r : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @replication_pad2d(
func.func @replication_pad2d(%a0: tensor<6x2x4x4xf32>) -> (tensor<6x2x2x4xf32>) {
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: arith.subi
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: tensor.extract
  %r = ltc.op "aten::replication_pad2d"(self = %a0, padding = array<i64: 0, 0, 2, -4>) node 0
    : (tensor<6x2x4x4xf32>) -> (tensor<6x2x2x4xf32>)
  return %r : tensor<6x2x2x4xf32>
}

// CHECK-LABEL: func.func @replication_pad3d(
func.func @replication_pad3d(%a0: tensor<3x3x5x5xf32>) -> (tensor<3x5x7x7xf32>) {
  // CHECK: tensor.extract
  %r = ltc.op "aten::replication_pad3d"(self = %a0, padding = array<i64: 1, 1, 1, 1, 1, 1>) node 0
    : (tensor<3x3x5x5xf32>) -> (tensor<3x5x7x7xf32>)
  return %r : tensor<3x5x7x7xf32>
}

// CHECK-LABEL: func.func @stack(
func.func @stack(%a0: tensor<2xf32>, %a1: tensor<2xf32>) -> (tensor<2x2xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: tensor.insert_slice
  %r = ltc.op "aten::stack"(tensors = [%a0, %a1], dim = 1 : i64) node 0
    : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>)
  return %r : tensor<2x2xf32>
}
