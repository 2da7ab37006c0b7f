//===- ops/random.cpp - Seeds and eager random numbers --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/random.h"

#include "ltc/settings.h"
#include "ltc_backend/record/call_key.h"
#include "ltc_backend/record/probe.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using c10::IValue;

static const ProbeMaker nothingOnCpu = {
    c10::kCPU,
    [](const at::Tensor &like) { return at::empty({0}, like.scalar_type()); }};

/// Calls whose numbers have been found right.
static KeySet &passedCalls() {
  static auto *passed = new KeySet;
  return *passed;
}

static bool isNumber(const Operand &operand) { return !operand.node; }

static Hash128 keyOfNumbers(const OpInfo &info, Hash128 call,
                            const OpNode::Operands &operands) {
  Hasher hasher(call);
  hasher.add(uint64_t(reinterpret_cast<uintptr_t>(&info)));
  for (const Operand &operand : operands)
    if (isNumber(operand))
      hasher.add(operand.bits);
  return hasher.finish();
}

bool havePassed(const OpInfo &info, Hash128 key,
                const OpNode::Operands &operands) {
  return std::ranges::none_of(operands, isNumber) ||
         passedCalls().contains(keyOfNumbers(info, key, operands));
}

void checkNumbers(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                  Hash128 key, const OpNode::Operands &operands) {
  bool any = false, isBetween = info.name.starts_with("aten::random.") ||
                                info.name.starts_with("aten::randint_like");
  for (size_t i = 0; i < arguments.size(); ++i)
    any |= info.arguments[i].lifts(arguments[i]) ||
           (isBetween && arguments[i].isInt());
  // What has no kernel there, as control flow, refuses none.
  if (any && info.handle.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU))
    callOnProbes(info.handle, replaceAll(arguments, nothingOnCpu));
  passedCalls().insert(keyOfNumbers(info, key, operands));
}

bool isRngEager() { return settings().rng == "eager"; }

} // namespace ltc::backend
