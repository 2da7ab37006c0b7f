//===- record/over_stock.h - Kernels in front of others ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// A boxed kernel in front of the one that its op had on a dispatch key when
/// this was made: PyTorch's, or an earlier one of ours.
struct OverStock : c10::OperatorKernel {
  explicit OverStock(const c10::OperatorHandle &op,
                     c10::DispatchKey key = c10::DispatchKey::Functionalize)
      : stock(op.getComputedKernelForDispatchKey(key)) {}
  c10::SafeKernelFunction stock;
};

inline c10::OperatorHandle atenOp(const std::string &name,
                                  const char *overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      ("aten::" + name).c_str(), overload);
}

/// What PyTorch keeps beside each kernel to say where it was registered, unless
/// told: a path, which took 0.4 MiB.
constexpr const char *kRegisteredBy = "torch_ltc";

/// Registers Kernel(arguments...) as a boxed kernel, `name` without namespace.
template <typename Kernel, typename... Args>
void implementBoxed(torch::Library &library, const char *name,
                    const Args &...arguments) {
  library.impl(name, torch::CppFunction::makeFromBoxedFunctor(
                         std::make_unique<Kernel>(arguments...))
                         .debug(kRegisteredBy));
}

/// Calls visit(op, name) with each op of ATen, `name` without namespace.
template <typename Visit> void forEachAtenOp(Visit visit) {
  constexpr std::string_view prefix = "aten::";
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName &name : dispatcher.getAllOpNames())
    if (auto op = dispatcher.findSchema(name);
        op && name.name.starts_with(prefix))
      visit(*op, c10::toString(name).c_str() + prefix.size());
}

} // namespace ltc::backend
