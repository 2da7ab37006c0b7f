//===- library.h - Where kernels are registered -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// A library of kernels for a namespace ("_" for all) and a dispatch key. Lives
/// as long as the process: kernels must not vanish under live tensors.
inline torch::Library *makeLibrary(const char *name, c10::DispatchKey key) {
  return new torch::Library(torch::Library::IMPL, name, key, __FILE__,
                            __LINE__);
}

} // namespace ltc::backend
