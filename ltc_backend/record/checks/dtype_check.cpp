//===- checks/dtype_check.cpp - Dtypes that eager refuses -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/map_tensors.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/stand_in.h"

namespace ltc::backend {
using c10::IValue;

/// A number that is a bool, as an argument or as the tensor that stands for
/// one.
static bool isBoolNumber(const c10::Argument &schema, const IValue &value) {
  if (value.isTensor()) {
    const at::Tensor &tensor = value.toTensor();
    return tensor.defined() && tensor.scalar_type() == at::kBool &&
           tensor.unsafeGetTensorImpl()->is_wrapped_number();
  }
  return value.isBool() && schema.type()->kind() == c10::TypeKind::NumberType;
}

/// Whether kernels and rows may differ in what dtypes they take: floats they
/// all take, but for a bool that is subtracted from one.
static bool hasRareDtypes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  bool any = false, floats = false, bools = false;
  const auto &schema = info.handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    bools |= isBoolNumber(schema[i], arguments[i]);
    forEachTensor(arguments[i], [&](const at::Tensor &tensor) {
      any |= tensor.defined();
      floats |= tensor.defined() && tensor.is_floating_point();
    });
  }
  return any && (!floats || bools || info.name == "aten::sub.Tensor");
}

/// The arguments as zeros of float, and bools among the numbers as integers.
static std::vector<IValue> asFloats(const OpInfo &info,
                                    c10::ArrayRef<IValue> arguments) {
  std::vector<IValue> floats = replaceAll(arguments, onCpuFlatFloat);
  const auto &schema = info.handle.schema().arguments();
  for (size_t i = 0; i < floats.size(); ++i)
    if (isBoolNumber(schema[i], floats[i]))
      floats[i] = floats[i].isTensor() ? IValue(at::zeros({})) : IValue(1);
  return floats;
}

/// Meta kernels and the compiler's rows take dtypes that the CPU's kernels have
/// nothing for. Those are asked, on zeros: what they say of zeros of float too,
/// and of a division by them, is not about dtypes.
void checkDtypes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  // Programs count integers wherever they are not on the CPU: GPUs can.
  if (info.view || !info.name.starts_with("aten::") ||
      info.name == "aten::histc" || !hasRareDtypes(info, arguments))
    return;
  try {
    callOnStandIns(info.handle, replaceAll(arguments, onCpuFlat));
  } catch (const c10::Error &refused) {
    std::string_view what = refused.what();
    if (what.find("ZeroDivisionError") != what.npos)
      return;
    try {
      callOnStandIns(info.handle, asFloats(info, arguments));
    } catch (const c10::Error &) {
      if (what.find("not implemented for") == what.npos)
        return;
    }
    throw;
  }
}

} // namespace ltc::backend
