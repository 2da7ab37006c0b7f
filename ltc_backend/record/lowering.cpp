//===- record/lowering.cpp - Lowerings that a program brings ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/lowering.h"

#include "ltc_backend/record/recorder.h"

#include <map>

namespace ltc::backend {

namespace {
struct Lowering {
  LoweringText text;
  c10::RegistrationHandleRAII kernel; ///< in front of a composite kernel
};
std::mutex mutex;
} // namespace

static std::map<std::string, Lowering> &lowerings() {
  static auto *all = new std::map<std::string, Lowering>;
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
  {
    std::lock_guard lock(mutex);
    auto found = lowerings().find(info.name);
    if (found != lowerings().end())
      found->second.text = std::move(text);
    else
      lowerings().emplace(info.name,
                          Lowering{std::move(text), recordInFront(op)});
  }
  info.forgetCalls();
}

void renewLowering(const c10::OperatorHandle &op) {
  std::lock_guard lock(mutex);
  auto found = lowerings().find(c10::toString(op.operator_name()));
  if (found == lowerings().end())
    return;
  c10::RegistrationHandleRAII &kernel = found->second.kernel;
  kernel = c10::RegistrationHandleRAII([] {}); // PyTorch warns of two
  kernel = recordInFront(op);
}

std::optional<std::string> loweringText(const OpInfo &info,
                                        c10::ArrayRef<c10::IValue> arguments) {
  LoweringText text;
  {
    std::lock_guard lock(mutex);
    auto found = lowerings().find(info.name);
    if (found == lowerings().end())
      return std::nullopt;
    text = found->second.text;
  }
  return text(info, arguments);
}

} // namespace ltc::backend
