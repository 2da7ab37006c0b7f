//===- ops/random.cpp - Seeds and eager random numbers --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/lent_generator.h"
#include "ltc_backend/record/call_key.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/stand_in.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ScalarOps.h>

namespace ltc::backend {
using c10::IValue;

uint64_t drawSeed(const std::optional<at::Generator> &given) {
  if (!given || *given == at::detail::getDefaultCPUGenerator())
    return drawFromProcess() >> 1;
  at::Generator generator = *given;
  std::lock_guard lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64() >> 1;
}

/// Numbers are drawn in the order of memory: that of the strides, without their
/// gaps and repetitions, which is how eager lays out what it draws.
static at::Tensor emptyOnHost(const at::Tensor &tensor, at::ScalarType dtype) {
  return at::empty_like(
      at::empty_strided(tensor.sizes(), tensor.strides(), dtype));
}

static IValue toHost(const IValue &value, bool shapeOnly) {
  if (value.isDevice())
    return c10::Device(c10::kCPU);
  if (!value.isTensor() || !value.toTensor().defined() ||
      !isLazy(value.toTensor()))
    return value;
  const at::Tensor &tensor = value.toTensor();
  at::Tensor host = emptyOnHost(tensor, tensor.scalar_type());
  return shapeOnly ? host.zero_() : host.copy_(toCpu(tensor));
}

static at::Tensor toLazy(const at::Tensor &host, int64_t device) {
  return makeTensor(upload(host, device), device, layoutOf(host));
}

/// Eager CPU has no fused dropout kernel: it multiplies by a mask that holds
/// 1 / (1 - p), rounded. The same draws and products give the same bits. Only
/// the draws are made on the host, which would split a loop over threads.
static void dropoutEagerly(torch::jit::Stack &stack) {
  auto arguments = torch::jit::last(stack, 3);
  at::Tensor input = arguments[0].toTensor();
  double p = arguments[1].toDouble();
  TORCH_CHECK_NOT_IMPLEMENTED(!input.is_complex(),
                              "\"bernoulli_scalar_cpu_\" not implemented for '",
                              input.scalar_type(), "'");
  at::Tensor kept = emptyOnHost(input, at::kBool);
  {
    UnlentGenerator forUser;
    kept.bernoulli_(1 - p);
  }
  at::Tensor mask = toLazy(kept, deviceOf(*tensorData(input)));
  double scale =
      at::ones({}, input.scalar_type()).div_(1 - p).item().toDouble();
  const OpInfo &multiply = opInfo("aten::mul", "Tensor");
  at::Tensor scaled =
      recordOne(multiply, {recordOne(multiply, {input, mask}),
                           at::native::wrapped_scalar_tensor(scale)});
  torch::jit::drop(stack, 3);
  stack.emplace_back(wrap(scaled));
  stack.emplace_back(wrap(mask));
}

static const StandIn nothingOnCpu = {
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
  if (any)
    callOnStandIns(info.handle, replaceAll(arguments, nothingOnCpu));
  passedCalls().insert(keyOfNumbers(info, key, operands));
}

bool isRngEager() { return settings().rng == "eager"; }

bool drawEagerly(const OpInfo &info, torch::jit::Stack &stack) {
  if (!isRngEager())
    return false;
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (info.name == "aten::native_dropout") {
    const IValue &train = arguments[2];
    double p = arguments[1].toDouble();
    if (p <= 0 || p >= 1 || (train.isBool() && !train.toBool()))
      return false;
    dropoutEagerly(stack);
    return true;
  }
  int64_t device = currentDevice();
  torch::jit::Stack host;
  for (const IValue &value : arguments) {
    if (value.isTensor() && isLazy(value.toTensor()))
      device = deviceOf(*tensorData(value.toTensor()));
    host.push_back(toHost(value, info.facts.has(OpFact::ReadsTypeOnly)));
  }
  {
    UnlentGenerator forUser;
    info.handle.callBoxed(&host);
  }
  torch::jit::drop(stack, info.arguments.size());
  for (IValue &value : host)
    stack.emplace_back(wrap(toLazy(value.toTensor(), device)));
  return true;
}

} // namespace ltc::backend
