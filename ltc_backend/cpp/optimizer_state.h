//===- cpp/optimizer_state.h - What an optimizer keeps ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/cpp/handles.h"

#include <torch/optim/optimizer.h>

namespace ltc::backend {

/// Adds the optimizer's handles of tensors that were found.
void addHandles(torch::optim::Optimizer &optimizer, RegisteredTensors &found);

/// Raises if the optimizer has state of a kind that moveState() does not know.
void checkState(torch::optim::Optimizer &optimizer);

/// Moves the state of parameters that have been moved, and files it under their
/// new tensors.
void moveState(torch::optim::Optimizer &optimizer,
               const RegisteredTensors &found);

} // namespace ltc::backend
