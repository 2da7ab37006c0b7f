//===- writes/rounded_number.h - Numbers that eager rounds first -*- C++ -*-==//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Out of place, a tensor of 16-bit floats times a number is computed with the
// number as a float. In place eager multiplies the number by the tensor, and
// what comes first is rounded to the tensor's dtype.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

namespace ltc::backend {

/// Whether an op multiplies tensors by numbers in place: aten::mul_.Scalar,
/// aten::_foreach_mul_.Scalar and .ScalarList.
bool roundsNumbers(const c10::FunctionSchema &op);

/// The number as eager multiplies a tensor of this dtype by it in place.
at::Scalar roundedNumber(const at::Scalar &number, at::ScalarType type);
/// The same of one number, or a list of them, for a list of tensors.
c10::IValue roundedNumbers(const c10::IValue &numbers,
                           c10::ArrayRef<c10::IValue> tensors);

} // namespace ltc::backend
