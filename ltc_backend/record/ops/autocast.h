//===- ops/autocast.h - torch.autocast('lazy') ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ltc::backend {

/// Registers a casting kernel for each op that autocast casts on the CPU.
void registerAutocast();

/// While it lives, calls of this thread cast nothing: in kernels that do a call
/// by others, of which eager's makes none.
struct NoAutocast : c10::impl::ExcludeDispatchKeyGuard {
  NoAutocast() : ExcludeDispatchKeyGuard(c10::DispatchKey::AutocastXLA) {}
};

/// Switches autocast of lazy tensors on this thread. PyTorch keeps no autocast
/// state for lazy: ours is XLA's, its dtype and its dispatch key.
LTC_API void setAutocastEnabled(bool enabled);
bool isAutocastEnabled();
/// Forgets the casts of parameters, at the end of the outermost region.
LTC_API void clearAutocastCache();

} // namespace ltc::backend
