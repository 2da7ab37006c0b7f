//===- record/ops/custom_lowering.cpp - Ops that the program lowers -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/custom_lowering.h"

#include "ltc_backend/record/record_kernel.h"

#include <map>

namespace ltc::backend {

static std::mutex mutex;

/// In front of composite kernels, by the op's name.
static std::map<std::string, c10::RegistrationHandleRAII> &kernels() {
  static auto *all = new std::map<std::string, c10::RegistrationHandleRAII>;
  return *all;
}

static c10::RegistrationHandleRAII
recordInFront(const c10::OperatorHandle &op) {
  return c10::Dispatcher::singleton().registerImpl(
      op.operator_name(), c10::DispatchKey::Lazy,
      c10::KernelFunction::makeFromBoxedFunctor(
          std::make_unique<RecordKernel>(opInfo(op))),
      std::nullopt, nullptr, "torch_ltc");
}

void registerLowering(const c10::OperatorHandle &op, LoweringText text) {
  const OpInfo &info = opInfo(op);
  setLowering(info, std::move(text));
  std::lock_guard lock(mutex);
  if (!kernels().contains(info.name))
    kernels().emplace(info.name, recordInFront(op));
}

void renewLowering(const c10::OperatorHandle &op) {
  std::lock_guard lock(mutex);
  auto found = kernels().find(c10::toString(op.operator_name()));
  if (found == kernels().end())
    return;
  c10::RegistrationHandleRAII &kernel = found->second;
  kernel = c10::RegistrationHandleRAII([] {}); // PyTorch warns of two
  kernel = recordInFront(op);
}

void releaseLowering(const c10::OperatorName &name) {
  std::lock_guard lock(mutex);
  if (auto found = kernels().find(c10::toString(name));
      found != kernels().end())
    found->second = c10::RegistrationHandleRAII([] {});
}

} // namespace ltc::backend
