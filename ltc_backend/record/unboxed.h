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
using MaybeType = std::optional<at::ScalarType>;
using MaybeLayout = std::optional<at::Layout>;
using MaybeDevice = std::optional<at::Device>;
using MaybeBool = std::optional<bool>;
using MaybeGenerator = std::optional<at::Generator>;

/// With the arguments behind them that say what tensor is made.
template <typename... Args>
using Makes = Takes<Args..., MaybeType, MaybeLayout, MaybeDevice, MaybeBool>;
template <typename... Args>
using MakesLike = Takes<Args..., MaybeType, MaybeLayout, MaybeDevice, MaybeBool,
                        std::optional<at::MemoryFormat>>;

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

inline bool returnsTensor(const c10::FunctionSchema &schema) {
  return schema.returns().size() == 1 &&
         schema.returns()[0].real_type()->kind() == c10::TypeKind::TensorType;
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
  using detail::MakesLike;
  using detail::MaybeGenerator;
  using detail::MaybeType;
  if (!detail::returnsTensor(schema))
    return false;
  auto any = [&](auto... lists) {
    return (detail::visitIf(schema, lists, visit) || ...);
  };
  return any(Takes<T>(), Takes<T, T>(), Takes<T, T, T>(), Takes<T, S>(),
             Takes<T, S, S>(), Takes<T, T, S>(), Takes<T, S, T>(),
             Takes<T, T, S, S>(), Takes<T, T, T, S>(), Takes<T, T, T, S, S>(),
             Takes<T, bool>(), Takes<T, int64_t>(), Takes<T, int64_t, bool>(),
             Takes<T, T, int64_t, at::ScalarType>(), Takes<T, Dims, bool>(),
             Takes<T, MaybeDims, bool, MaybeType>(), Takes<T, MaybeType>(),
             Takes<T, double, MaybeGenerator>(),
             Takes<T, double, double, MaybeGenerator>(), MakesLike<T>(),
             MakesLike<T, S>());
}

/// The same for ops that make a tensor of none.
template <typename Visit>
bool visitMaker(const c10::FunctionSchema &schema, Visit visit) {
  using S = at::Scalar;
  using Sizes = c10::SymIntArrayRef;
  using detail::Makes;
  auto any = [&](auto... lists) {
    return (detail::visitIf(schema, lists, visit) || ...);
  };
  return detail::returnsTensor(schema) &&
         any(Makes<Sizes>(), Makes<Sizes, S>(), Makes<S>(), Makes<S, S>(),
             Makes<S, S, S>());
}

} // namespace ltc::backend
