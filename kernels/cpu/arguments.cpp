//===- arguments.cpp - A call's arguments, by name ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "arguments.h"

namespace ltc::kernels {

double Number::in(Views operands) const {
  if (given.number == kNoValue)
    return value;
  const TensorView &scalar = operands[given.number];
  return scalar.dtype == DType::F64 ? scalar.real : double(scalar.integer);
}

template <typename T>
const T *Arguments::attribute(std::string_view name) const {
  const Argument *argument = node.find(name);
  auto *value = argument ? std::get_if<Attribute>(&argument->value) : nullptr;
  return value ? std::get_if<T>(value) : nullptr;
}

Operand Arguments::tensor(std::string_view name) const {
  const Argument *argument = node.find(name);
  auto *value = argument ? std::get_if<ValueId>(&argument->value) : nullptr;
  return value ? Operand{*value} : Operand{};
}

std::vector<Operand> Arguments::tensors(std::string_view name) const {
  std::vector<Operand> result;
  const Argument *argument = node.find(name);
  auto *list =
      argument ? std::get_if<std::vector<ValueId>>(&argument->value) : nullptr;
  for (size_t i = 0; list && i < list->size(); ++i)
    result.push_back({(*list)[i]});
  return result;
}

Number Arguments::number(std::string_view name, double otherwise) const {
  if (auto *real = attribute<double>(name))
    return {*real};
  if (auto *whole = attribute<int64_t>(name))
    return {double(*whole)};
  if (auto *flag = attribute<bool>(name))
    return {double(*flag)};
  return {otherwise, tensor(name)};
}

bool Arguments::isGiven(std::string_view name) const {
  return node.find(name) && !attribute<std::monostate>(name);
}

bool Arguments::flag(std::string_view name) const {
  auto *value = attribute<bool>(name);
  return value && *value;
}

int64_t Arguments::integer(std::string_view name, int64_t otherwise) const {
  auto *value = attribute<int64_t>(name);
  return value ? *value : otherwise;
}

std::vector<int64_t> Arguments::integers(std::string_view name) const {
  auto *value = attribute<std::vector<int64_t>>(name);
  return value ? *value : std::vector<int64_t>();
}

std::vector<bool> Arguments::flags(std::string_view name) const {
  auto *value = attribute<std::vector<bool>>(name);
  return value ? *value : std::vector<bool>();
}

} // namespace ltc::kernels
