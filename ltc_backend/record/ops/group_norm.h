//===- ops/group_norm.h - Group norm of channels_last -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// The composite kernel keeps channels_last for a list of devices. `library` is
/// aten's on the Functionalize key.
void registerGroupNorm(torch::Library &library);

} // namespace ltc::backend
