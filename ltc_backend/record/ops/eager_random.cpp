//===- record/ops/eager_random.cpp - Random ops with eager's own numbers --===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/eager_random.h"

#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/lent_generator.h"
#include "ltc_backend/record/ops/random.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>

namespace ltc::backend {
using c10::IValue;

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
