//===- record/fallback.cpp - Ops that no graph can hold ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/fallback.h"

#include "ltc/syncs.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/host/host_call.h"
#include "ltc_backend/tensors/map_tensors.h"

namespace ltc::backend {
using c10::IValue;

/// Between devices.
static bool isCopy(const OpInfo &info) {
  return info.name == "aten::copy_" ||
         info.name == "aten::copy_sparse_to_sparse_";
}

static std::string describe(const OpInfo &info,
                            c10::ArrayRef<IValue> arguments) {
  std::string text = info.name + "(";
  bool first = true;
  for (const IValue &value : arguments) {
    if (!value.isTensor() || !value.toTensor().defined())
      continue;
    const at::Tensor &tensor = value.toTensor();
    text += first ? "" : ", ";
    if (tensor.is_quantized())
      text += c10::str(tensor.scalar_type(), " ");
    else if (tensor.layout() != at::kStrided)
      text += c10::str(tensor.layout(), " ");
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

/// One that has no kernel of ours (collectives/collective.cpp), or of tensors
/// that are not dense. The schemas do not say that they write.
static void refuseCollective(const OpInfo &info,
                             c10::ArrayRef<IValue> arguments) {
  if (info.name.starts_with("c10d::"))
    refuse(info, arguments,
           "is a collective that is not carried for lazy tensors.",
           "call it on a CPU copy: x.cpu()");
}

/// Ends the graph for a call on the host, if that may be.
static void split(const OpInfo &info, torch::jit::Stack &stack,
                  const std::string &reason, std::string hint) {
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (syncs::refusesFallback()) {
    bool byGuard = syncs::NoFallback::isEntered();
    std::string by = byGuard ? "no_fallback()" : "LTC_FALLBACK=error";
    refuse(info, arguments,
           reason + ", and " + by + " forbids splitting the graph for it.",
           (byGuard ? "move it out of the block, or use "
                    : "LTC_FALLBACK=cpu, or ") +
               hint);
  }
  info.countFallback();
  callOnHost(info.handle, stack);
}

void runFallback(const OpInfo &info, torch::jit::Stack &stack,
                 const std::string &reason) {
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (info.handle.schema().is_mutable())
    refuse(info, arguments,
           "writes to its arguments, and PyTorch has no functional form of it "
           "that could be recorded.",
           "call it on a CPU copy: x.cpu()");
  refuseCollective(info, arguments);
  split(info, stack, reason,
        "an op whose result shape does not depend on "
        "values");
}

/// A tensor of the CPU among the arguments that is not dense, and beside which
/// a lazy one stands.
static void refuseBeside(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  at::Tensor notDense, lazy;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      if (!tensor.defined())
        return;
      if (tensor.device().is_lazy())
        lazy = tensor;
      else if (tensor.layout() != at::kStrided || tensor.is_quantized())
        notDense = tensor;
    });
  if (notDense.defined() && lazy.defined() && !isCopy(info))
    raiseTwoDevices(info.name, lazy.device().index(), notDense);
}

static bool isOfTensors(const c10::Type &type) {
  return type.isSubtypeOf(*c10::TensorType::get()) ||
         type.isSubtypeOf(*c10::ListType::ofTensors());
}

/// Whether it is a call for the host to make: not one without lazy tensors, nor
/// one that only looks at them, shows what one holds in another way, makes an
/// empty one, or moves.
static bool computes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  bool anyLazy = false;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      anyLazy |= tensor.defined() && tensor.device().is_lazy();
    });
  if (!anyLazy)
    return false;
  if (isCopy(info) || info.name.starts_with("aten::empty") ||
      info.name.starts_with("aten::_empty") || info.name == "aten::_to_copy")
    return false;
  const auto &schema = info.handle.schema();
  return schema.is_mutable() ||
         std::ranges::any_of(schema.returns(), [](const c10::Argument &result) {
           return !result.alias_info() && isOfTensors(*result.type());
         });
}

void callNotDense(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const OpInfo &info = opInfo(op);
  auto arguments = torch::jit::last(*stack, info.arguments.size());
  refuseBeside(info, arguments);
  refuseCollective(info, arguments);
  if (!computes(info, arguments))
    return callOnHost(op, *stack);
  split(info, *stack, "takes or gives a tensor that is not dense",
        "dense tensors: x.to_dense(), x.dequantize()");
}

} // namespace ltc::backend
