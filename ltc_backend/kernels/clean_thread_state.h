//===- kernels/clean_thread_state.h - What kernels run under ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>

namespace ltc::backend {

/// While it lives, ATen on this thread is plain CPU kernels: no autograd, no
/// autocast, functionalisation, modes or whatever else the thread has on.
class CleanThreadState {
  c10::impl::ForceDispatchKeyGuard keys{c10::default_included_set,
                                        c10::default_excluded_set};
  c10::InferenceMode inference;
};

/// For the few random operators that take no generator: lends the state of
/// `generator` to the process's CPU generator and gives the old one back. A
/// draw by another thread meanwhile is undone.
class SeededDefaultGenerator {
public:
  explicit SeededDefaultGenerator(const at::Generator &generator) {
    std::lock_guard lock(process.mutex());
    saved = process.get_state();
    process.set_state(generator.get_state());
  }
  ~SeededDefaultGenerator() {
    std::lock_guard lock(process.mutex());
    process.set_state(saved);
  }
  SeededDefaultGenerator(const SeededDefaultGenerator &) = delete;
  SeededDefaultGenerator &operator=(const SeededDefaultGenerator &) = delete;

private:
  at::Generator process = at::detail::getDefaultCPUGenerator();
  at::Tensor saved;
};

} // namespace ltc::backend
