//===- record/ops/eager_random.h - Random ops with eager's own numbers ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <ATen/core/stack.h>

namespace ltc::backend {

/// With rng=eager, runs a random op on the CPU with the generator that eager
/// would use. False: the caller records it with a seed.
bool drawEagerly(const OpInfo &info, torch::jit::Stack &stack);

} // namespace ltc::backend
