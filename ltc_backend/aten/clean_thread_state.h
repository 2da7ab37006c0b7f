//===- clean_thread_state.h - What kernels run under ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ltc::backend {

/// While it lives, ATen on this thread is plain CPU kernels: no autograd, no
/// autocast, functionalisation, modes or whatever else the thread has on.
class CleanThreadState {
  c10::impl::ForceDispatchKeyGuard keys{c10::default_included_set,
                                        c10::default_excluded_set};
  c10::InferenceMode inference;
};

} // namespace ltc::backend
