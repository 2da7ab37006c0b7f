//===- checks/argument_kinds.cpp - What a kernel chooses by ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/argument_kinds.h"

#include "ltc_backend/record/call_key.h"
#include "ltc_backend/tensors/map_tensors.h"

namespace ltc::backend {
using c10::IValue;

bool takesNumbers(const ArgumentInfo &argument) {
  return argument.kind == ArgumentKind::Scalar ||
         argument.kind == ArgumentKind::ScalarList;
}

bool isSize(const ArgumentInfo &argument, const IValue &value) {
  return argument.name == "size" && value.isIntList();
}

/// One element is filled by other code, which lets narrow floats pass; none by
/// none.
static void addKind(Hasher &hasher, const ArgumentInfo &argument,
                    const IValue &value) {
  bool any = false;
  forEachTensor(value, [&](const at::Tensor &tensor) {
    any = true;
    if (tensor.defined())
      addTag(hasher, KeyTag::Tensor)
          .add(uint64_t(tensor.scalar_type()))
          .add(tensor.dim())
          .add(std::min<int64_t>(tensor.numel(), 2))
          .add(tensor.unsafeGetTensorImpl()->is_wrapped_number());
  });
  if (any)
    return;
  const IValue &first = value.isList() && !value.toListRef().empty()
                            ? value.toListRef()[0]
                            : value;
  if (takesNumbers(argument) && (argument.liftable || value.isList()))
    addTag(hasher, first.isInt()      ? KeyTag::Int
                   : first.isBool()   ? KeyTag::Bool
                   : first.isNone()   ? KeyTag::None
                   : first.isDouble() ? KeyTag::Double
                                      : KeyTag::Other);
  else if (isSize(argument, value))
    hasher.add(c10::multiply_integers(value.toIntVector()) == 1);
  else if (!argument.liftable && argument.kind != ArgumentKind::Placement &&
           !value.isList())
    addAttribute(hasher, value);
}

Hash128 kindsOf(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  Hasher hasher;
  hasher.add(uint64_t(reinterpret_cast<uintptr_t>(&info)));
  hasher.add(uint64_t(c10::get_default_dtype_as_scalartype()));
  for (size_t i = 0; i < arguments.size(); ++i)
    addKind(hasher, info.arguments[i], arguments[i]);
  return hasher.finish();
}

} // namespace ltc::backend
