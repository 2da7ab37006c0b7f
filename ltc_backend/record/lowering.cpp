//===- record/lowering.cpp - Lowerings that a program brings ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/lowering.h"

#include <map>

namespace ltc::backend {

static std::mutex mutex;

static std::map<std::string, LoweringText> &lowerings() {
  static auto *all = new std::map<std::string, LoweringText>;
  return *all;
}

void setLowering(const OpInfo &info, LoweringText text) {
  {
    std::lock_guard lock(mutex);
    lowerings()[info.name] = std::move(text);
  }
  info.forgetCalls();
}

std::optional<std::string> loweringText(const OpInfo &info,
                                        c10::ArrayRef<c10::IValue> arguments) {
  LoweringText text;
  {
    std::lock_guard lock(mutex);
    auto found = lowerings().find(info.name);
    if (found == lowerings().end())
      return std::nullopt;
    text = found->second;
  }
  return text(info, arguments);
}

} // namespace ltc::backend
