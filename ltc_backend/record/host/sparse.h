//===- host/sparse.h - Sparse tensors of a lazy device ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They are PyTorch's, and their indices and values are lazy tensors, which a
// program may use as any others.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

namespace ltc::backend {

/// Whether its layout is one of the sparse ones.
inline bool isSparse(const at::Tensor &tensor) {
  constexpr c10::DispatchKeySet kinds{c10::DispatchKey::Sparse,
                                      c10::DispatchKey::SparseCsr};
  return tensor.key_set().has_any(kinds);
}

/// Its indices, or the two kinds of them, and its values.
std::vector<at::Tensor> membersOf(const at::Tensor &sparse);

/// The same tensor with f of its indices and values in their place, on the
/// device where these are.
using MapMember = c10::function_ref<at::Tensor(const at::Tensor &)>;
at::Tensor mapMembers(const at::Tensor &sparse, MapMember f);

/// Gives one lazy tensor the indices, values and sizes of another one of its
/// layout.
void assignMembers(const at::Tensor &sparse, const at::Tensor &from);

/// Puts the kernels on their keys that need no host.
void registerMembers();

} // namespace ltc::backend
