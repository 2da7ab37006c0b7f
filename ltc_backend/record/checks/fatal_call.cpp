//===- checks/fatal_call.cpp - Calls that end eager's process -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/fatal_call.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using c10::IValue;

static const IValue *find(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                          std::string_view name) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (info.arguments[i].name == name)
      return &arguments[i];
  return nullptr;
}

static bool isMissing(const IValue *value) {
  return !value || !value->isTensor() || !value->toTensor().defined();
}

/// Statistics are read and written for each channel.
static void checkStatistics(const IValue *value, const char *name,
                            const at::Tensor &input) {
  if (!isMissing(value) && input.dim() >= 2)
    TORCH_CHECK(value->toTensor().numel() == input.size(1), name,
                " should contain ", input.size(1), " elements not ",
                value->toTensor().numel());
}

/// A pivot is read for each row that the factors have in common.
static void checkPivots(const at::Tensor &factors, const at::Tensor &pivots) {
  if (factors.dim() < 2)
    return;
  std::vector<int64_t> wanted =
      factors.sizes().slice(0, factors.dim() - 1).vec();
  wanted.back() = std::min(factors.size(-1), factors.size(-2));
  TORCH_CHECK(pivots.sizes() == wanted,
              "torch.lu_unpack: LU_pivots should have the shape ",
              at::IntArrayRef(wanted), " not ", pivots.sizes());
}

/// The words are those of the kernels in front of these.
void refuseFatalCall(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  if (info.name == "aten::lu_unpack" && arguments[3].toBool())
    checkPivots(arguments[0].toTensor(), arguments[1].toTensor());
  if (info.name.find("batch_norm") == info.name.npos)
    return;
  const IValue *input = find(info, arguments, "input");
  if (isMissing(input))
    return;
  bool isEmpty = input->toTensor().numel() == 0;
  TORCH_CHECK(!isEmpty || info.name != "aten::native_batch_norm_backward",
              "input tensor must have at least one element, but got "
              "input_sizes = ",
              input->toTensor().sizes());
  if (!isEmpty)
    for (const char *name : {"running_mean", "running_var"})
      checkStatistics(find(info, arguments, name), name, input->toTensor());
  const IValue *training = find(info, arguments, "training");
  if (training && !training->toBool())
    TORCH_CHECK(isEmpty || !isMissing(find(info, arguments, "running_mean")),
                "running_mean must be defined in evaluation mode");
}

} // namespace ltc::backend
