//===- record/direct_host_call.cpp - The host's calls, directly -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct_host_call.h"

#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/fallback.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ltc::backend {
namespace functional = at::functionalization;
using c10::IValue;

/// Whether PyTorch's own transform has calls on the CPU functionalised, too.
static bool isFunctionalizing() {
  return c10::impl::tls_local_dispatch_key_set().included_.has(
      c10::DispatchKey::Functionalize);
}

/// Whether each tensor is a dense lazy one in a wrapper that shows it as it is,
/// and there is one.
static bool arePlain(c10::ArrayRef<IValue> arguments) {
  bool any = false, all = true;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      any |= tensor.defined();
      all &= !tensor.defined() || (isPlain(tensor) && !isNotDense(tensor));
    });
  return any && all;
}

/// Why an equal call was not recorded; empty if it was, or if there was none.
static std::string knownReason(const OpInfo &info,
                               c10::ArrayRef<IValue> arguments) {
  if (!info.fallbackReason.empty())
    return info.fallbackReason;
  CallReader call(info, arguments);
  if (!call.allFunctional() || call.hasHostTensors())
    return "";
  std::lock_guard lock(pendingList(call.device).mutex);
  std::shared_ptr<const CallShape> shape = info.findCall(call.readValues());
  return shape ? shape->fallback : "";
}

static at::Tensor valueInside(const at::Tensor &tensor) {
  return tensor.defined()
             ? functional::impl::from_functional_tensor(materialised(tensor))
             : tensor;
}

/// A result, which may be an argument.
static at::Tensor wrapped(const at::Tensor &result) {
  bool isBare = result.defined() && result.device().is_lazy() &&
                !functional::impl::isFunctionalTensor(result);
  return isBare ? makeWrapper(result) : result;
}

bool callHostDirectly(const OpInfo &info, torch::jit::Stack &stack) {
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (info.random || info.makesLike || info.errorCheck || !isUnwatched(info) ||
      isFunctionalizing() || !arePlain(arguments))
    return false;
  std::string reason = knownReason(info, arguments);
  if (reason.empty())
    return false;
  torch::jit::Stack values;
  values.reserve(arguments.size());
  for (const IValue &value : arguments)
    values.push_back(mapTensors(value, valueInside));
  runFallback(info, values, reason);
  torch::jit::drop(stack, info.arguments.size());
  for (const IValue &result : values)
    stack.push_back(mapTensors(result, wrapped));
  return true;
}

} // namespace ltc::backend
