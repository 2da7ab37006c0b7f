//===- writes/empty_list.cpp - Writes to no tensors among others ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/empty_list.h"

#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/schema.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using c10::IValue;

static bool isWrittenList(const c10::Argument &argument, const IValue &value) {
  return value.isTensorList() && isWritten(argument);
}

static std::optional<c10::OperatorHandle>
withoutUnderscore(const c10::OperatorHandle &op) {
  c10::OperatorName name = op.operator_name();
  if (!op.schema().returns().empty() || !name.name.ends_with('_'))
    return std::nullopt;
  name.name.pop_back();
  return c10::Dispatcher::singleton().findSchema(name);
}

bool wroteBesideEmptyList(const c10::OperatorHandle &op,
                          torch::jit::Stack &stack) {
  const auto &schema = op.schema().arguments();
  auto arguments = torch::jit::last(stack, schema.size());
  bool hasEmpty = false;
  for (size_t i = 0; i < schema.size(); ++i)
    hasEmpty |= isWrittenList(schema[i], arguments[i]) &&
                arguments[i].toListRef().empty();
  if (!hasEmpty || !hasFunctionalLazy(arguments))
    return false;
  auto twin = withoutUnderscore(op);
  if (!twin)
    return false;
  torch::jit::Stack results = torch::jit::pop(stack, schema.size());
  std::vector<IValue> written;
  for (size_t i = 0; i < schema.size(); ++i)
    if (isWrittenList(schema[i], results[i]))
      written.push_back(results[i]);
  twin->callBoxed(&results);
  for (size_t i = 0; i < written.size(); ++i)
    for (size_t j = 0; j < written[i].toListRef().size(); ++j)
      written[i].toListRef()[j].toTensor().copy_(
          results[i].toListRef()[j].toTensor());
  return true;
}

} // namespace ltc::backend
