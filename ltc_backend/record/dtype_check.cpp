//===- record/dtype_check.cpp - Dtypes that eager refuses -----------------===//
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

/// Whether kernels and rows may differ in what dtypes they take: floats they
/// all take, but for a bool that is subtracted from one.
static bool hasRareDtypes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  bool any = false, floats = false;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      any |= tensor.defined();
      floats |= tensor.defined() && tensor.is_floating_point();
    });
  return any && (!floats || info.name == "aten::sub.Tensor");
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
      callOnStandIns(info.handle, replaceAll(arguments, onCpuFlatFloat));
    } catch (const c10::Error &) {
      if (what.find("not implemented for") == what.npos)
        return;
    }
    throw;
  }
}

} // namespace ltc::backend
