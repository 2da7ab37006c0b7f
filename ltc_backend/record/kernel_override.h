//===- record/kernel_override.h - Kernels in front of others ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/library.h"
#include "ltc_backend/torch_private.h"

namespace ltc::backend {

/// What the op does for a key now. A copy: PyTorch's SafeKernelFunction would
/// also hold words about it, and take 0.3 kB.
inline c10::KernelFunction kernelOf(const c10::OperatorHandle &op,
                                    c10::DispatchKey key) {
  return entryOf(op).lookup(c10::DispatchKeySet(key));
}

/// A boxed kernel in front of the one that its op had on a dispatch key when
/// this was made: PyTorch's, or an earlier one of ours.
struct KernelOverride : c10::OperatorKernel {
  explicit KernelOverride(
      const c10::OperatorHandle &op,
      c10::DispatchKey key = c10::DispatchKey::Functionalize)
      : stock(kernelOf(op, key)) {}
  c10::KernelFunction stock;
};

inline c10::OperatorHandle atenOp(const std::string &name,
                                  const char *overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      ("aten::" + name).c_str(), overload);
}

/// Registers Kernel(arguments...) as a boxed kernel of an op of ATen, `name`
/// without namespace.
template <typename Kernel, typename... Args>
void implementBoxed(torch::Library &library, const char *name,
                    const Args &...arguments) {
  addKernel(library, name,
            c10::KernelFunction::makeFromBoxedFunctor(
                std::make_unique<Kernel>(arguments...)));
}

/// Registers a function with unboxed arguments in the same way.
template <typename Kernel>
void implement(torch::Library &library, const char *name, Kernel kernel) {
  addKernel(library, name,
            c10::KernelFunction::makeFromUnboxedLambda(std::move(kernel)),
            c10::impl::CppSignature::make<Kernel>());
}

/// Calls visit(op, name) with each op of ATen, `name` without namespace.
/// While kernels are registered.
template <typename Visit> void forEachAtenOp(Visit visit) {
  for (const auto &[op, name] : atenOps())
    visit(op, name.c_str());
}

} // namespace ltc::backend
