//===- record/unboxed.h - Kernels with unboxed arguments --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To box a call costs 0.2 us, most of it because the stack holds the tensors:
// whoever holds one beside its Python object holds that too, which takes the
// GIL twice. For the commonest lists of arguments kernels are instantiated that
// take them as they come.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

namespace ltc::backend {

template <typename... Args> struct Takes {};

/// How a kernel gets an argument.
template <typename T>
using Parameter = std::conditional_t<std::is_same_v<T, at::Tensor> ||
                                         std::is_same_v<T, at::Scalar>,
                                     const T &, T>;

namespace detail {
template <typename... Args, typename Visit>
bool visitIf(const c10::FunctionSchema &schema, Takes<Args...> list,
             Visit &visit) {
  const auto &arguments = schema.arguments();
  if (arguments.size() != sizeof...(Args))
    return false;
  size_t i = 0;
  if (!((*arguments[i++].real_type() == *c10::getTypePtrCopy<Args>()) && ...))
    return false;
  visit(list);
  return true;
}
} // namespace detail

/// Calls visit(Takes<...>()) with the argument list of an op that returns one
/// tensor. False if it is not among the commonest.
template <typename Visit>
bool visitArguments(const c10::FunctionSchema &schema, Visit visit) {
  using T = at::Tensor;
  using S = at::Scalar;
  using Dims = at::IntArrayRef;
  using MaybeDims = at::OptionalIntArrayRef;
  using MaybeType = std::optional<at::ScalarType>;
  if (schema.returns().size() != 1 ||
      schema.returns()[0].real_type()->kind() != c10::TypeKind::TensorType)
    return false;
  auto any = [&](auto... lists) {
    return (detail::visitIf(schema, lists, visit) || ...);
  };
  return any(Takes<T>(), Takes<T, T>(), Takes<T, T, T>(), Takes<T, S>(),
             Takes<T, S, S>(), Takes<T, T, S>(), Takes<T, S, T>(),
             Takes<T, T, S, S>(), Takes<T, T, T, S>(), Takes<T, T, T, S, S>(),
             Takes<T, bool>(), Takes<T, int64_t>(), Takes<T, int64_t, bool>(),
             Takes<T, T, int64_t, at::ScalarType>(), Takes<T, Dims, bool>(),
             Takes<T, MaybeDims, bool, MaybeType>(), Takes<T, MaybeType>());
}

} // namespace ltc::backend
