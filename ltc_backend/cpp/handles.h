//===- cpp/handles.h - Where a module keeps its tensors ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <set>
#include <string>
#include <unordered_map>

namespace ltc::backend {

/// A tensor that a module has registered, and every handle of it.
struct Registered {
  std::string name; ///< with the children's, as in named_parameters()
  at::Tensor moved;
  std::set<at::Tensor *> handles;
};
using RegisteredTensors =
    std::unordered_map<const c10::TensorImpl *, Registered>;

/// Finds those of the module and its children, in their dictionaries and in the
/// members of libtorch's own modules.
RegisteredTensors findRegistered(torch::nn::Module &module);

} // namespace ltc::backend
