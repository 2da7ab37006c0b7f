//===- ops/packed_numbers.cpp - Lists of numbers in a CPU tensor ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/packed_numbers.h"

#include <ATen/native/ForeachUtils.h>

namespace ltc::backend {
using c10::IValue;

bool calledWithNumbers(const c10::OperatorHandle &op,
                       torch::jit::Stack &stack) {
  const c10::FunctionSchema &schema = op.schema();
  if (!stack.back().isTensor() || !stack.back().toTensor().device().is_cpu() ||
      schema.arguments().back().name() != "scalars")
    return false;
  std::vector<IValue> call = torch::jit::pop(stack, schema.arguments().size());
  call.back() = c10::List<at::Scalar>(at::native::convert_tensor_to_scalar_list(
      call.back().toTensor(), int64_t(call[0].toListRef().size())));
  c10::Dispatcher::singleton()
      .findSchemaOrThrow(schema.name().c_str(), "ScalarList")
      .callBoxed(&call);
  stack.insert(stack.end(), call.begin(), call.end());
  return true;
}

} // namespace ltc::backend
