//===- checks/factory_check.cpp - What the CPU's factories refuse ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/factory_check.h"

#include "ltc_backend/record/checks/argument_kinds.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <algorithm>

namespace ltc::backend {
using c10::IValue;

static bool hasTensors(c10::ArrayRef<IValue> arguments) {
  bool found = false;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &) { found = true; });
  return found;
}

/// Whether how many elements there are is among the numbers that are checked.
static bool isOfAnyLength(const OpInfo &info) {
  return info.name == "aten::randperm" || info.name.starts_with("aten::arange");
}

static bool isLogspace(const OpInfo &info) {
  return info.name.starts_with("aten::logspace");
}

/// All kernels take these, and hold what is asked for, but for some powers.
static bool isCommon(const OpInfo &info, at::ScalarType type) {
  if (type == at::kLong || type == at::kInt)
    return isOfAnyLength(info);
  return (type == at::kFloat || type == at::kDouble) && !isLogspace(info);
}

/// Of the same call for few elements: three have both ends, and one between.
static IValue forFew(const ArgumentInfo &argument, const IValue &value) {
  if (isSize(argument, value))
    return smallSizes(value.toIntVector());
  bool isCount = argument.name == "steps" || argument.name == "window_length";
  return isCount && value.isInt() ? IValue(std::min<int64_t>(value.toInt(), 3))
                                  : value;
}

void checkFactory(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  if (hasTensors(arguments) && !info.name.ends_with("_like"))
    return;
  std::vector<IValue> few = replaceAll(arguments, onCpuSmall);
  bool isAsked = isLogspace(info);
  for (size_t i = 0; i < few.size(); ++i) {
    if (info.arguments[i].name == "dtype" && few[i].isInt())
      isAsked = !isCommon(info, at::ScalarType(few[i].toInt()));
    few[i] = forFew(info.arguments[i], few[i]);
  }
  if (isAsked)
    callOnProbes(info.handle, std::move(few));
}

} // namespace ltc::backend
