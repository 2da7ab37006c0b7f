// RUN: ltc-opt %s --ltc-lower --canonicalize --cse --split-input-file | FileCheck %s

// A view is the shortest reshape: runs of dimensions that match stay apart.
// CHECK-LABEL: func.func @view
func.func @view(%x: tensor<32x8x64xf32>) -> (tensor<256x8x8xf32>, tensor<32x512xf32>, tensor<32x8x64x1xf32>) {
  // CHECK: %[[C:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : tensor<32x8x64xf32> into tensor<256x64xf32>
  // CHECK: tensor.expand_shape %[[C]] {{\[}}[0], [1, 2]]
  %0 = ltc.op "aten::view_copy"(self = %x, size = array<i64: 256, 8, 8>) node 0 : (tensor<32x8x64xf32>) -> tensor<256x8x8xf32>
  // CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2]]
  %1 = ltc.op "aten::view_copy"(self = %x, size = array<i64: 32, -1>) node 0 : (tensor<32x8x64xf32>) -> tensor<32x512xf32>
  // CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1], [2, 3]]
  %2 = ltc.op "aten::unsqueeze_copy"(self = %x, dim = -1 : i64) node 0 : (tensor<32x8x64xf32>) -> tensor<32x8x64x1xf32>
  return %0, %1, %2 : tensor<256x8x8xf32>, tensor<32x512xf32>, tensor<32x8x64x1xf32>
}

// -----

// Permutes and expands are maps, which fuse.
// CHECK-DAG: #[[$T:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$B:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @maps
func.func @maps(%x: tensor<8x4xf32>, %y: tensor<1x4xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  // CHECK: linalg.generic {indexing_maps = [#[[$T]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
  %0 = ltc.op "aten::transpose_copy.int"(self = %x, dim0 = 0 : i64, dim1 = -1 : i64) node 0 : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[$B]], #{{.*}}]
  %1 = ltc.op "aten::expand_copy"(self = %y, size = array<i64: 8, -1>, implicit = false) node 0 : (tensor<1x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<8x4xf32>
}

// -----

// Bounds clamp as Python's do.
// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<8x10xf32>, %y: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<2x10xf32>, tensor<8x10xf32>) {
  // CHECK: tensor.extract_slice %{{.*}}[0, 1] [8, 3] [1, 4]
  %0 = ltc.op "aten::slice_copy.Tensor"(self = %x, dim = 1 : i64, start = 1 : i64, end = 9223372036854775807 : i64, step = 4 : i64) node 0
    : (tensor<8x10xf32>) -> tensor<8x3xf32>
  // CHECK: tensor.extract_slice %{{.*}}[6, 0] [2, 10] [1, 1]
  %1 = ltc.op "aten::slice_copy.Tensor"(self = %x, dim = 0 : i64, start = -2 : i64, end = none, step = 1 : i64) node 0
    : (tensor<8x10xf32>) -> tensor<2x10xf32>
  // CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 2] [8, 3] [1, 1]
  %2 = ltc.op "aten::slice_scatter"(self = %x, src = %y, dim = 1 : i64, start = 2 : i64, end = 5 : i64, step = 1 : i64) node 0
    : (tensor<8x10xf32>, tensor<8x3xf32>) -> tensor<8x10xf32>
  return %0, %1, %2 : tensor<8x3xf32>, tensor<2x10xf32>, tensor<8x10xf32>
}

// -----

// A library call reads it, so it needs memory of its own.
// CHECK-LABEL: func.func @reshape_of_nothing
func.func @reshape_of_nothing(%x: tensor<5x5x0xf32>) -> tensor<25x0xf32> {
  // CHECK: linalg.fill
  %0 = ltc.op "aten::view_copy"(self = %x, size = array<i64: 25, 0>) node 0
    : (tensor<5x5x0xf32>) -> tensor<25x0xf32>
  return %0 : tensor<25x0xf32>
}
