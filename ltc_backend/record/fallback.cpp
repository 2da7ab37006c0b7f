//===- record/fallback.cpp - Ops that no graph can hold ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/graph/host_read.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/map_tensors.h"
#include "ltc_backend/record/recorder.h"

#include <ATen/native/CPUFallback.h>

namespace ltc::backend {
using c10::IValue;

static std::string describe(const OpInfo &info,
                            c10::ArrayRef<IValue> arguments) {
  std::string text = info.name + "(";
  bool first = true;
  for (const IValue &value : arguments) {
    if (!value.isTensor() || !value.toTensor().defined())
      continue;
    const at::Tensor &tensor = value.toTensor();
    text += first ? "" : ", ";
    text += TensorType{toDType(tensor.scalar_type()).value_or(DType::U8),
                       tensor.sizes().vec()}
                .str();
    first = false;
  }
  return text + ")";
}

[[noreturn]] static void refuse(const OpInfo &info,
                                c10::ArrayRef<IValue> arguments,
                                const std::string &why, std::string hint) {
  raise({ErrorCode::Unsupported, Stage::Record,
         describe(info, arguments) + " " + why, info.name,
         sourceOf(currentSource()), std::move(hint)});
}

/// At most one graph for all operands, rather than one sync each.
static void syncOperands(c10::ArrayRef<IValue> arguments) {
  std::vector<TensorDataPtr> pending;
  auto visit = [&](const at::Tensor &tensor) {
    if (!tensor.defined() || !isLazy(tensor))
      return;
    TensorDataPtr data = tensorData(tensor);
    if (!deviceData(*data))
      pending.push_back(std::move(data));
  };
  for (const IValue &value : arguments)
    forEachTensor(value, visit);
  if (!pending.empty() && !settleOnHost(pending))
    markStep(deviceOf(*pending[0]), /*wait=*/false);
}

void runFallback(const OpInfo &info, torch::jit::Stack &stack,
                 const std::string &reason) {
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (info.handle.schema().is_mutable())
    refuse(info, arguments,
           "writes to its arguments, and PyTorch has no functional form of it "
           "that could be recorded.",
           "call it on a CPU copy: x.cpu()");
  if (settings().fallback == "error")
    refuse(info, arguments,
           reason + ", and LTC_FALLBACK=error forbids splitting the graph "
                    "for it.",
           "LTC_FALLBACK=cpu, or an op whose result shape does not depend on "
           "values");
  info.countFallback();
  syncOperands(arguments);
  at::native::cpu_fallback(info.handle, &stack, /*error_on_views=*/false);
}

} // namespace ltc::backend
