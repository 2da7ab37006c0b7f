//===- record/creation.h - Who is told of new lazy tensors ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

#include <atomic>

namespace ltc::backend {

using CreationHook = void (*)();

/// Calls it from now on before a tensor is made on the device, by a factory or
/// from one that is elsewhere; it may throw. Null: nobody is told. Any thread.
LTC_API void setCreationHook(CreationHook hook);

namespace detail {
inline std::atomic<CreationHook> creationHook{nullptr};
} // namespace detail

inline bool isCreationTold() {
  return detail::creationHook.load(std::memory_order_relaxed) != nullptr;
}

inline void tellCreation() {
  auto hook = detail::creationHook.load(std::memory_order_relaxed);
  if (hook) [[unlikely]]
    hook();
}

} // namespace ltc::backend
