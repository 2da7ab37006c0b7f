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

/// The words are those of the kernels in front of these.
void refuseFatalCall(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
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
  const IValue *training = find(info, arguments, "training");
  if (training && !training->toBool())
    TORCH_CHECK(isEmpty || !isMissing(find(info, arguments, "running_mean")),
                "running_mean must be defined in evaluation mode");
}

} // namespace ltc::backend
