//===- writes/rounded_number.cpp - Numbers that eager rounds first --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/rounded_number.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace ltc::backend {
using c10::IValue;

bool roundsNumbers(const c10::FunctionSchema &op) {
  return (op.name() == "aten::mul_" || op.name() == "aten::_foreach_mul_") &&
         op.overload_name().starts_with("Scalar");
}

at::Scalar roundedNumber(const at::Scalar &number, at::ScalarType type) {
  if (number.isComplex())
    return number;
  if (type == at::kBFloat16)
    return double(c10::BFloat16(number.to<float>()));
  if (type == at::kHalf)
    return double(c10::Half(number.to<float>()));
  return number;
}

IValue roundedNumbers(const IValue &numbers, c10::ArrayRef<IValue> tensors) {
  if (!numbers.isList())
    return tensors.empty() ? numbers
                           : roundedNumber(numbers.toScalar(),
                                           tensors[0].toTensor().scalar_type());
  auto each = numbers.toListRef();
  if (each.size() != tensors.size())
    return numbers; // which the op will refuse
  c10::List<at::Scalar> rounded;
  for (size_t i = 0; i < each.size(); ++i)
    rounded.push_back(
        roundedNumber(each[i].toScalar(), tensors[i].toTensor().scalar_type()));
  return rounded;
}

} // namespace ltc::backend
