//===- record/inference_mode.h - Ops in inference mode ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Gives functionalisation what it lacks in inference mode, for lazy tensors.
///
/// An op that PyTorch composes of others (linear, gru) is taken apart while its
/// tensors are functional. Autograd's key does that before functionalisation,
/// but tensors of inference mode lack it: the parts would be called on bare
/// tensors, whose views nobody follows.
///
/// A view of an ordinary tensor (a module's parameter) is an ordinary tensor,
/// and one of a tensor of inference mode is of that mode. Functionalisation
/// makes a new tensor for it, which would go by the mode that is on.
///
/// `library` is aten's on the Functionalize key.
void registerForInferenceMode(torch::Library &library);

} // namespace ltc::backend
