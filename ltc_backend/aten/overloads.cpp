//===- overloads.cpp - Finds the siblings of an operator --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "overloads.h"

#include <ATen/core/jit_type.h>
#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <unordered_map>

namespace ltc::backend {

using c10::OperatorHandle;

/// Every overload name by operator name. Operators registered later are found
/// by name all the same; they only get no sibling.
static const std::vector<std::string> &overloadsOf(const std::string &name) {
  using Table = std::unordered_map<std::string, std::vector<std::string>>;
  static const Table table = [] {
    Table table;
    for (const auto &op : c10::Dispatcher::singleton().getAllOpNames())
      table[op.name].push_back(op.overload_name);
    return table;
  }();
  static const std::vector<std::string> none;
  auto found = table.find(name);
  return found == table.end() ? none : found->second;
}

std::optional<OperatorHandle> findOperator(std::string_view name) {
  size_t dot = name.find('.');
  c10::OperatorName key{std::string(name.substr(0, dot)), ""};
  if (dot != name.npos)
    key.overload_name = name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchema(key);
}

bool isGenerator(const c10::Argument &argument) {
  auto type = argument.type();
  if (auto optional = type->cast<c10::OptionalType>())
    type = optional->getElementType();
  return type->kind() == c10::TypeKind::GeneratorType;
}

static bool isOut(const c10::Argument &argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

static std::vector<const c10::Argument *>
withoutOuts(const c10::FunctionSchema &schema) {
  std::vector<const c10::Argument *> list;
  for (const c10::Argument &argument : schema.arguments())
    if (!isOut(argument))
      list.push_back(&argument);
  return list;
}

static bool sameArguments(const std::vector<const c10::Argument *> &a,
                          const std::vector<const c10::Argument *> &b) {
  return std::ranges::equal(
      a, b, [](const c10::Argument *x, const c10::Argument *y) {
        return x->name() == y->name() && *x->real_type() == *y->real_type();
      });
}

/// The out variants of losses use the result for the loss of each element and
/// resize it, with a warning; binary_cross_entropy even returns another value.
static bool resizesOut(const c10::FunctionSchema &schema) {
  return schema.argumentIndexWithName("reduction").has_value();
}

/// With a warning, to no elements and back.
static bool resizesOut(const c10::OperatorName &name) {
  return name.name == "aten::isin" && name.overload_name == "Scalar_Tensor";
}

/// Whose kernel counts on zeros there, and adds to them.
static bool addsToOut(const c10::FunctionSchema &schema) {
  return schema.name() == "aten::_compute_linear_combination";
}

c10::DispatchKey denseKeyOf(c10::Device device) {
  return device.is_cpu()
             ? c10::DispatchKey::CPU
             : c10::computeDispatchKey(std::nullopt, c10::kStrided, device);
}

std::optional<OperatorHandle> nativeOut(const OperatorHandle &op,
                                        c10::Device device) {
  const auto &name = op.operator_name();
  if (resizesOut(op.schema()) || resizesOut(name) || addsToOut(op.schema()))
    return std::nullopt;
  auto wanted = withoutOuts(op.schema());
  c10::DispatchKey key = denseKeyOf(device);
  for (const std::string &overload : overloadsOf(name.name)) {
    auto sibling =
        c10::Dispatcher::singleton().findSchema({name.name, overload});
    if (!sibling || !sibling->schema().is_mutable() ||
        !sibling->hasKernelForDispatchKey(key))
      continue;
    const auto &arguments = sibling->schema().arguments();
    size_t outs = std::ranges::count_if(arguments, isOut);
    // Outs last and one for each result: else it is an in-place variant.
    if (outs != op.schema().returns().size() ||
        arguments.size() != wanted.size() + outs)
      continue;
    if (std::all_of(arguments.end() - outs, arguments.end(), isOut) &&
        sameArguments(withoutOuts(sibling->schema()), wanted))
      return sibling;
  }
  return std::nullopt;
}

OperatorHandle withGenerator(const OperatorHandle &op) {
  if (std::ranges::any_of(op.schema().arguments(), isGenerator))
    return op;
  const auto &name = op.operator_name();
  for (const std::string &overload : overloadsOf(name.name)) {
    auto sibling =
        c10::Dispatcher::singleton().findSchema({name.name, overload});
    if (!sibling || sibling->schema().is_mutable() != op.schema().is_mutable())
      continue;
    auto arguments = withoutOuts(sibling->schema());
    if (std::erase_if(arguments, [](auto *a) { return isGenerator(*a); }) &&
        sameArguments(arguments, withoutOuts(op.schema())))
      return *sibling;
  }
  return op;
}

} // namespace ltc::backend
