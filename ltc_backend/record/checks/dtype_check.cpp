//===- checks/dtype_check.cpp - Dtypes that eager refuses -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/call_key.h"
#include "ltc_backend/record/checks/argument_kinds.h"
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

/// Whether small tensors that fit each other are computed as large ones are.
static bool isAlikeWhenSmall(const OpInfo &info) {
  return info.handle.hasTag(at::Tag::pointwise) ||
         info.name.starts_with("aten::_foreach_") || info.name == "aten::mm" ||
         info.name == "aten::addmm" || info.name == "aten::bmm" ||
         info.name == "aten::baddbmm";
}

/// All kernels take floats of these dtypes; convolutions others too, and to ask
/// them would be much work.
static bool isCommonFloat(const OpInfo &info, at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble ||
         (info.name.starts_with("aten::convolution") &&
          (type == at::kHalf || type == at::kBFloat16));
}

/// Whether kernels and rows may differ in what dtypes they take. Of common
/// floats only those do that compute with bits, and a bool that is subtracted.
static bool hasRareDtypes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  bool any = false, common = false, rareFloats = false, bools = false;
  const auto &schema = info.handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    bools |= isBoolNumber(schema[i], arguments[i]);
    forEachTensor(arguments[i], [&](const at::Tensor &tensor) {
      if (!tensor.defined())
        return;
      any = true;
      bool isCommon = isCommonFloat(info, tensor.scalar_type());
      common |= isCommon;
      rareFloats |= tensor.is_floating_point() && !isCommon;
    });
  }
  return any && (!common || rareFloats || bools || isAlikeWhenSmall(info));
}

/// The arguments as other zeros, and bools among the numbers as integers.
static std::vector<IValue> asOthers(const OpInfo &info,
                                    c10::ArrayRef<IValue> arguments,
                                    const StandIn &by) {
  std::vector<IValue> others = replaceAll(arguments, by);
  const auto &schema = info.handle.schema().arguments();
  for (size_t i = 0; i < others.size(); ++i)
    if (isBoolNumber(schema[i], others[i]))
      others[i] = others[i].isTensor() ? IValue(at::zeros({})) : IValue(1);
  return others;
}

/// Programs count integers wherever they are not on the CPU: GPUs can.
static bool isCountOfIntegers(const OpInfo &info,
                              c10::ArrayRef<IValue> arguments) {
  return info.name == "aten::histc" &&
         c10::isIntegralType(arguments[0].toTensor().scalar_type(),
                             /*includeBool=*/false);
}

static bool takes(const OpInfo &info, std::vector<IValue> standIns) {
  try {
    callOnStandIns(info.handle, std::move(standIns));
    return true;
  } catch (const c10::Error &) {
    return false;
  }
}

/// Whether the kernel takes zeros or ones. Throws what it says of them, unless
/// it may be about the values: what it says of zeros of float too, or of a
/// division by them.
static bool takesOrThrows(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  for (const StandIn &standIn : {onCpuFlat, onCpuOnes})
    try {
      callOnStandIns(info.handle, replaceAll(arguments, standIn));
      return true;
    } catch (const c10::Error &refused) {
      std::string_view what = refused.what();
      if (what.find("ZeroDivisionError") != what.npos)
        continue;
      if (what.find("not implemented for") != what.npos ||
          takes(info, asOthers(info, arguments, onCpuFlatFloat)) ||
          takes(info, asOthers(info, arguments, onCpuFlatWide)))
        throw;
    }
  return false;
}

/// Meta kernels and the compiler's rows take dtypes that the CPU's kernels have
/// nothing for. Those are asked, once for each kind of arguments.
void checkDtypes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  if (info.view || !info.name.starts_with("aten::") ||
      !hasRareDtypes(info, arguments) || isCountOfIntegers(info, arguments))
    return;
  static auto *taken = new KeySet;
  Hash128 kinds = kindsOf(info, arguments);
  if (taken->contains(kinds))
    return;
  bool takesSmall =
      isAlikeWhenSmall(info) && takes(info, replaceAll(arguments, onCpuSmall));
  if (takesSmall || takesOrThrows(info, arguments))
    taken->insert(kinds);
}

} // namespace ltc::backend
