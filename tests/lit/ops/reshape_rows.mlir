// RUN: ltc-opt %s --ltc-lower --canonicalize --cse | FileCheck %s --implicit-check-not=ltc.call

// What each remaining row comes down to.

// CHECK-LABEL: func.func @_reshape_alias(
func.func @_reshape_alias(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::_reshape_alias"(self = %a0, size = array<i64: -1>) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @_reshape_alias_copy(
func.func @_reshape_alias_copy(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::_reshape_alias_copy"(self = %a0, size = array<i64: -1>) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @_reshape_copy(
func.func @_reshape_copy(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::_reshape_copy"(self = %a0, size = array<i64: -1>) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @_unsafe_view(
func.func @_unsafe_view(%a0: tensor<3x2x2xf32>) -> (tensor<6x2xf32>) {
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::_unsafe_view"(self = %a0, size = array<i64: 6, 2>) node 0
    : (tensor<3x2x2xf32>) -> (tensor<6x2xf32>)
  return %r : tensor<6x2xf32>
}

// CHECK-LABEL: func.func @alias(
func.func @alias(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::alias"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @alias_copy(
func.func @alias_copy(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::alias_copy"(self = %a0) node 0
    : (tensor<5xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @detach(
func.func @detach(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::detach"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @detach_copy(
func.func @detach_copy(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::detach_copy"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @diag_embed(
func.func @diag_embed(%a0: tensor<5xf32>) -> (tensor<5x5xf32>) {
  // CHECK: linalg.fill
  // CHECK: tensor.insert_slice %{{.*}}[0] [5] [6]
  %r = ltc.op "aten::diag_embed"(self = %a0, offset = 0 : i64, dim1 = -2 : i64, dim2 = -1 : i64) node 0
    : (tensor<5xf32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @diagonal(
func.func @diagonal(%a0: tensor<2x2xf32>) -> (tensor<2xf32>) {
  // CHECK: tensor.extract
  %r = ltc.op "aten::diagonal"(self = %a0, offset = 0 : i64, dim1 = 0 : i64, dim2 = 1 : i64) node 0
    : (tensor<2x2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @diagonal_backward(
func.func @diagonal_backward(%a0: tensor<2xf32>) -> (tensor<2x2xf32>) {
  // CHECK: linalg.fill
  // CHECK: tensor.insert_slice %{{.*}}[0] [2] [3]
  %r = ltc.op "aten::diagonal_backward"(grad_output = %a0, input_sizes = array<i64: 2, 2>, offset = 0 : i64, dim1 = 0 : i64, dim2 = 1 : i64) node 0
    : (tensor<2xf32>) -> (tensor<2x2xf32>)
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @diagonal_copy(
func.func @diagonal_copy(%a0: tensor<3x5xf32>) -> (tensor<3xf32>) {
  // CHECK: tensor.extract
  %r = ltc.op "aten::diagonal_copy"(self = %a0, offset = 0 : i64, dim1 = 0 : i64, dim2 = 1 : i64) node 0
    : (tensor<3x5xf32>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @diagonal_scatter(
func.func @diagonal_scatter(%a0: tensor<3x5xf32>, %a1: tensor<3xf32>) -> (tensor<3x5xf32>) {
  // CHECK: tensor.insert_slice %{{.*}}[0] [3] [6]
  %r = ltc.op "aten::diagonal_scatter"(self = %a0, src = %a1, offset = 0 : i64, dim1 = 0 : i64, dim2 = 1 : i64) node 0
    : (tensor<3x5xf32>, tensor<3xf32>) -> (tensor<3x5xf32>)
  return %r : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @expand(
func.func @expand(%a0: tensor<3xf32>) -> (tensor<5x2x3xf32>) {
  // CHECK: linalg.generic
  %r = ltc.op "aten::expand"(self = %a0, size = array<i64: 5, 2, 3>, implicit = false) node 0
    : (tensor<3xf32>) -> (tensor<5x2x3xf32>)
  return %r : tensor<5x2x3xf32>
}

// CHECK-LABEL: func.func @flip(
func.func @flip(%a0: tensor<5x5x5xf32>) -> (tensor<5x5x5xf32>) {
  // CHECK: arith.subi
  // CHECK: tensor.extract
  %r = ltc.op "aten::flip"(self = %a0, dims = array<i64: 0>) node 0
    : (tensor<5x5x5xf32>) -> (tensor<5x5x5xf32>)
  return %r : tensor<5x5x5xf32>
}

// CHECK-LABEL: func.func @permute(
func.func @permute(%a0: tensor<3xf32>) -> (tensor<3xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::permute"(self = %a0, dims = array<i64: 0>) node 0
    : (tensor<3xf32>) -> (tensor<3xf32>)
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @permute_copy(
func.func @permute_copy(%a0: tensor<1x2x3x4xf32>) -> (tensor<1x3x4x2xf32>) {
  // CHECK: linalg.generic
  %r = ltc.op "aten::permute_copy"(self = %a0, dims = array<i64: 0, 2, 3, 1>) node 0
    : (tensor<1x2x3x4xf32>) -> (tensor<1x3x4x2xf32>)
  return %r : tensor<1x3x4x2xf32>
}

// CHECK-LABEL: func.func @repeat(
func.func @repeat(%a0: tensor<2xf32>) -> (tensor<6xf32>) {
  // CHECK-NOT: tensor.extract
  // CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<2xf32>) outs(%{{.*}} : tensor<3x2xf32>)
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::repeat"(self = %a0, repeats = array<i64: 3>) node 0
    : (tensor<2xf32>) -> (tensor<6xf32>)
  return %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @reshape(
func.func @reshape(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::reshape"(self = %a0, size = array<i64: -1>) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @roll(
func.func @roll(%a0: tensor<5x5x5xf32>) -> (tensor<5x5x5xf32>) {
  // CHECK: tensor.extract
  %r = ltc.op "aten::roll"(self = %a0, shifts = array<i64: 0>, dims = array<i64: 0>) node 0
    : (tensor<5x5x5xf32>) -> (tensor<5x5x5xf32>)
  return %r : tensor<5x5x5xf32>
}

// CHECK-LABEL: func.func @select_int(
func.func @select_int(%a0: tensor<2xf32>) -> (tensor<f32>) {
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::select.int"(self = %a0, dim = 0 : i64, index = 1 : i64) node 0
    : (tensor<2xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @select_backward(
func.func @select_backward(%a0: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: linalg.fill
  // CHECK: tensor.expand_shape
  // CHECK: tensor.insert_slice
  %r = ltc.op "aten::select_backward"(grad_output = %a0, input_sizes = array<i64: 5>, dim = 0 : i64, index = 2 : i64) node 0
    : (tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @select_copy_int(
func.func @select_copy_int(%a0: tensor<2xf32>) -> (tensor<f32>) {
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::select_copy.int"(self = %a0, dim = 0 : i64, index = 1 : i64) node 0
    : (tensor<2xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @select_scatter(
func.func @select_scatter(%a0: tensor<5xf32>, %a1: tensor<f32>) -> (tensor<5xf32>) {
  // CHECK: tensor.expand_shape
  // CHECK: tensor.insert_slice
  %r = ltc.op "aten::select_scatter"(self = %a0, src = %a1, dim = 0 : i64, index = 2 : i64) node 0
    : (tensor<5xf32>, tensor<f32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @slice_Tensor(
func.func @slice_Tensor(%a0: tensor<2x15xf32>) -> (tensor<2x5xf32>) {
  // CHECK: tensor.extract_slice
  %r = ltc.op "aten::slice.Tensor"(self = %a0, dim = 1 : i64, start = 5 : i64, end = 10 : i64, step = 1 : i64) node 0
    : (tensor<2x15xf32>) -> (tensor<2x5xf32>)
  return %r : tensor<2x5xf32>
}

// CHECK-LABEL: func.func @slice_backward(
func.func @slice_backward(%a0: tensor<3xf32>) -> (tensor<5xf32>) {
  // CHECK: linalg.fill
  // CHECK: tensor.insert_slice
  %r = ltc.op "aten::slice_backward"(grad_output = %a0, input_sizes = array<i64: 5>, dim = 0 : i64, start = 2 : i64, end = 9223372036854775807 : i64, step = 1 : i64) node 0
    : (tensor<3xf32>) -> (tensor<5xf32>)
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func.func @split_Tensor(
func.func @split_Tensor(%a0: tensor<6xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK: tensor.extract_slice
  %r:3 = ltc.op "aten::split.Tensor"(self = %a0, split_size = 2 : i64, dim = 0 : i64) node 0
    : (tensor<6xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %r#0, %r#1, %r#2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @split_copy_Tensor(
func.func @split_copy_Tensor(%a0: tensor<6xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK: tensor.extract_slice
  %r:3 = ltc.op "aten::split_copy.Tensor"(self = %a0, split_size = 2 : i64, dim = 0 : i64) node 0
    : (tensor<6xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %r#0, %r#1, %r#2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @split_with_sizes(
func.func @split_with_sizes(%a0: tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>) {
  // CHECK: tensor.extract_slice
  %r:3 = ltc.op "aten::split_with_sizes"(self = %a0, split_sizes = array<i64: 1, 3, 1>, dim = 0 : i64) node 0
    : (tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>)
  return %r#0, %r#1, %r#2 : tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>
}

// CHECK-LABEL: func.func @split_with_sizes_copy(
func.func @split_with_sizes_copy(%a0: tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>) {
  // CHECK: tensor.extract_slice
  %r:3 = ltc.op "aten::split_with_sizes_copy"(self = %a0, split_sizes = array<i64: 1, 3, 1>, dim = 0 : i64) node 0
    : (tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>)
  return %r#0, %r#1, %r#2 : tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>
}

// CHECK-LABEL: func.func @squeeze(
func.func @squeeze(%a0: tensor<2x2xf32>) -> (tensor<2x2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::squeeze"(self = %a0) node 0
    : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
  return %r : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @squeeze_dim(
func.func @squeeze_dim(%a0: tensor<1xf32>) -> (tensor<f32>) {
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::squeeze.dim"(self = %a0, dim = -1 : i64) node 0
    : (tensor<1xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @squeeze_dims(
func.func @squeeze_dims(%a0: tensor<5x1x5x1xf32>) -> (tensor<5x5xf32>) {
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::squeeze.dims"(self = %a0, dim = array<i64: 1, 3>) node 0
    : (tensor<5x1x5x1xf32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @squeeze_copy(
func.func @squeeze_copy(%a0: tensor<1x1x1x1xf32>) -> (tensor<f32>) {
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::squeeze_copy"(self = %a0) node 0
    : (tensor<1x1x1x1xf32>) -> (tensor<f32>)
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @squeeze_copy_dim(
func.func @squeeze_copy_dim(%a0: tensor<1x1x1x1xf32>) -> (tensor<1x1x1xf32>) {
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::squeeze_copy.dim"(self = %a0, dim = 0 : i64) node 0
    : (tensor<1x1x1x1xf32>) -> (tensor<1x1x1xf32>)
  return %r : tensor<1x1x1xf32>
}

// CHECK-LABEL: func.func @squeeze_copy_dims(
func.func @squeeze_copy_dims(%a0: tensor<5x1x5x1xf32>) -> (tensor<5x5xf32>) {
  // CHECK: tensor.collapse_shape
  %r = ltc.op "aten::squeeze_copy.dims"(self = %a0, dim = array<i64: 1, 3>) node 0
    : (tensor<5x1x5x1xf32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @t(
func.func @t(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::t"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @t_copy(
func.func @t_copy(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::t_copy"(self = %a0) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @transpose_int(
func.func @transpose_int(%a0: tensor<5x5xf32>) -> (tensor<5x5xf32>) {
  // CHECK: linalg.generic
  %r = ltc.op "aten::transpose.int"(self = %a0, dim0 = -2 : i64, dim1 = -1 : i64) node 0
    : (tensor<5x5xf32>) -> (tensor<5x5xf32>)
  return %r : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @unbind_int(
func.func @unbind_int(%a0: tensor<5xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  %r:5 = ltc.op "aten::unbind.int"(self = %a0, dim = 0 : i64) node 0
    : (tensor<5xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @unbind_copy_int(
func.func @unbind_copy_int(%a0: tensor<5xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  // CHECK: tensor.extract_slice
  // CHECK: tensor.collapse_shape
  %r:5 = ltc.op "aten::unbind_copy.int"(self = %a0, dim = 0 : i64) node 0
    : (tensor<5xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @unfold(
func.func @unfold(%a0: tensor<10xf32>) -> (tensor<4x3xf32>) {
  // CHECK: arith.muli
  // CHECK: arith.addi
  // CHECK: tensor.extract
  %r = ltc.op "aten::unfold"(self = %a0, dimension = 0 : i64, size = 3 : i64, step = 2 : i64) node 0
    : (tensor<10xf32>) -> (tensor<4x3xf32>)
  return %r : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @unfold_copy(
func.func @unfold_copy(%a0: tensor<10xf32>) -> (tensor<4x3xf32>) {
  // CHECK: arith.muli
  // CHECK: arith.addi
  // CHECK: tensor.extract
  %r = ltc.op "aten::unfold_copy"(self = %a0, dimension = 0 : i64, size = 3 : i64, step = 2 : i64) node 0
    : (tensor<10xf32>) -> (tensor<4x3xf32>)
  return %r : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @unsafe_split_Tensor(
func.func @unsafe_split_Tensor(%a0: tensor<5x5x5xf32>) -> (tensor<3x5x5xf32>, tensor<2x5x5xf32>) {
  // CHECK: tensor.extract_slice
  %r:2 = ltc.op "aten::unsafe_split.Tensor"(self = %a0, split_size = 3 : i64, dim = 0 : i64) node 0
    : (tensor<5x5x5xf32>) -> (tensor<3x5x5xf32>, tensor<2x5x5xf32>)
  return %r#0, %r#1 : tensor<3x5x5xf32>, tensor<2x5x5xf32>
}

// CHECK-LABEL: func.func @unsafe_split_with_sizes(
func.func @unsafe_split_with_sizes(%a0: tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>) {
  // CHECK: tensor.extract_slice
  %r:3 = ltc.op "aten::unsafe_split_with_sizes"(self = %a0, split_sizes = array<i64: 1, 3, 1>, dim = 0 : i64) node 0
    : (tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>)
  return %r#0, %r#1, %r#2 : tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>
}

// CHECK-LABEL: func.func @unsqueeze(
func.func @unsqueeze(%a0: tensor<f32>) -> (tensor<1xf32>) {
  // CHECK: tensor.expand_shape
  %r = ltc.op "aten::unsqueeze"(self = %a0, dim = 0 : i64) node 0
    : (tensor<f32>) -> (tensor<1xf32>)
  return %r : tensor<1xf32>
}

// CHECK-LABEL: func.func @view(
func.func @view(%a0: tensor<2xf32>) -> (tensor<2xf32>) {
  // CHECK: return %{{.*}}
  %r = ltc.op "aten::view"(self = %a0, size = array<i64: -1>) node 0
    : (tensor<2xf32>) -> (tensor<2xf32>)
  return %r : tensor<2xf32>
}

// One device does nothing with where others have parts.
// CHECK-LABEL: func.func @shard(
// CHECK-SAME: %[[X:.*]]: tensor<4x2xf32>)
func.func @shard(%a0: tensor<4x2xf32>) -> (tensor<4x2xf32>) {
  // CHECK-NEXT: return %[[X]]
  %r = ltc.op "torch_ltc::shard"(self = %a0, grid = array<i64: 2>, splits = array<i64: 0>) node 0
    : (tensor<4x2xf32>) -> (tensor<4x2xf32>)
  return %r : tensor<4x2xf32>
}
