//===- library.cpp - Where kernels are registered -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/library.h"

#include "ltc_backend/torch_private.h"

namespace ltc::backend {

static void keepForEver(c10::RegistrationHandleRAII registration) {
  undoOf(registration) = nullptr;
}

void addKernel(torch::Library &library, std::string_view name,
               c10::KernelFunction kernel,
               std::optional<c10::impl::CppSignature> signature) {
  size_t dot = std::min(name.find('.'), name.size());
  std::string overload(name.substr(std::min(dot + 1, name.size())));
  keepForEver(c10::Dispatcher::singleton().registerImpl(
      {"aten::" + std::string(name.substr(0, dot)), std::move(overload)},
      keyOf(library), std::move(kernel), signature,
      /*inferred_function_schema=*/nullptr, kRegisteredBy));
}

void replaceFallback(c10::DispatchKey key, c10::KernelFunction kernel) {
  auto &dispatcher = c10::Dispatcher::singleton();
  // One at a time, says the dispatcher; each op's table holds a copy.
  fallbacksOf(dispatcher)[c10::getDispatchTableIndexForDispatchKey(key)] = {};
  keepForEver(
      dispatcher.registerFallback(key, std::move(kernel), kRegisteredBy));
}

using AtenOps = std::vector<std::pair<c10::OperatorHandle, std::string>>;

static AtenOps &knownOps() {
  static auto *ops = new AtenOps;
  return *ops;
}

const AtenOps &atenOps() {
  constexpr std::string_view prefix = "aten::";
  AtenOps &ops = knownOps();
  auto &dispatcher = c10::Dispatcher::singleton();
  if (ops.empty())
    for (const c10::OperatorName &name : dispatcher.getAllOpNames())
      if (name.name.starts_with(prefix))
        if (auto op = dispatcher.findSchema(name))
          ops.emplace_back(*op, c10::toString(name).substr(prefix.size()));
  return ops;
}

void forgetAtenOps() { AtenOps().swap(knownOps()); }

} // namespace ltc::backend
