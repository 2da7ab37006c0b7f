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

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>
#include <c10/core/SymIntArrayRef.h>

#include <algorithm>
#include <array>

namespace ltc::backend {

template <typename... Args> struct Takes {};
/// Of an op that returns this many tensors.
template <size_t Count> struct Returns {};

/// How a kernel gets an argument.
template <typename T>
using Parameter =
    std::conditional_t<std::is_same_v<T, at::Tensor> ||
                           std::is_same_v<T, at::Scalar> ||
                           std::is_same_v<T, std::optional<at::Scalar>> ||
                           std::is_same_v<T, at::ITensorListRef> ||
                           std::is_same_v<T, std::optional<at::Tensor>>,
                       const T &, T>;

/// What a kernel returns of the tensors that it made.
inline at::Tensor asResult(std::array<at::Tensor, 1> &&tensors) {
  return std::move(tensors[0]);
}
template <size_t Count> auto asResult(std::array<at::Tensor, Count> &&tensors) {
  return std::apply(
      [](auto &...each) { return std::make_tuple(std::move(each)...); },
      tensors);
}
template <size_t Count>
using Result = decltype(asResult(std::array<at::Tensor, Count>()));

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

inline bool returnsTensors(const c10::FunctionSchema &schema, size_t count) {
  const auto &results = schema.returns();
  return results.size() == count &&
         std::ranges::all_of(results, [](const c10::Argument &result) {
           return result.real_type()->kind() == c10::TypeKind::TensorType;
         });
}
} // namespace detail

/// Calls visit(Takes<...>()) with the argument list of an op that returns one
/// tensor and may have a form in place. False if it is not among the commonest.
template <typename Visit>
bool visitArguments(const c10::FunctionSchema &schema, Visit visit) {
  using T = at::Tensor;
  using S = at::Scalar;
  using Dims = at::IntArrayRef;
  using MaybeDims = at::OptionalIntArrayRef;
  using MaybeS = std::optional<at::Scalar>;
  using detail::MakesLike;
  using detail::MaybeGenerator;
  using detail::MaybeType;
  if (!detail::returnsTensors(schema, 1))
    return false;
  auto any = [&](auto... lists) {
    return (detail::visitIf(schema, lists, visit) || ...);
  };
  return any(Takes<T>(), Takes<T, T>(), Takes<T, T, T>(), Takes<T, S>(),
             Takes<T, S, S>(), Takes<T, S, S, S>(), Takes<T, MaybeS, MaybeS>(),
             Takes<T, T, S>(), Takes<T, S, T>(), Takes<T, T, S, S>(),
             Takes<T, T, T, S>(), Takes<T, T, T, S, S>(), Takes<T, bool>(),
             Takes<T, int64_t>(), Takes<T, int64_t, bool>(),
             Takes<T, T, int64_t, at::ScalarType>(), Takes<T, Dims, bool>(),
             Takes<T, MaybeDims, bool, MaybeType>(), Takes<T, MaybeType>(),
             Takes<T, double, MaybeGenerator>(),
             Takes<T, double, double, MaybeGenerator>(), MakesLike<T>(),
             MakesLike<T, S>());
}

/// The same for ops that make a tensor of none.
template <typename Visit>
bool visitFactory(const c10::FunctionSchema &schema, Visit visit) {
  using S = at::Scalar;
  using Sizes = c10::SymIntArrayRef;
  using detail::Makes;
  auto any = [&](auto... lists) {
    return (detail::visitIf(schema, lists, visit) || ...);
  };
  return detail::returnsTensors(schema, 1) &&
         any(Makes<Sizes>(), Makes<Sizes, S>(), Makes<S>(), Makes<S, S>(),
             Makes<S, S, S>());
}

/// Calls visit(Returns<...>(), Takes<...>()) with those of an op that makes new
/// tensors.
template <typename Visit>
bool visitCall(const c10::FunctionSchema &schema, Visit visit) {
  using T = at::Tensor;
  using MaybeT = std::optional<at::Tensor>;
  using I = c10::SymInt;
  using Is = c10::SymIntArrayRef;
  using Dims = at::IntArrayRef;
  using MaybeInt = std::optional<int64_t>;
  using MaybeDims = at::OptionalIntArrayRef;
  using S = at::Scalar;
  using MaybeS = std::optional<at::Scalar>;
  using detail::MaybeType;
  using Mask = std::array<bool, 3>;
  auto any = [&]<size_t Count>(Returns<Count> count, auto... lists) {
    auto visitOne = [&](auto list) { visit(count, list); };
    return detail::returnsTensors(schema, Count) &&
           (detail::visitIf(schema, lists, visitOne) || ...);
  };
  if (visitArguments(schema, [&](auto list) { visit(Returns<1>(), list); }))
    return true;
  // Both are lists to a schema.
  if (schema.name() == "aten::cat")
    return any(Returns<1>(), Takes<at::ITensorListRef, int64_t>());
  return any(
             // stack, tril, embedding, losses
             Returns<1>(), Takes<at::TensorList, int64_t>(), Takes<T, I>(),
             Takes<T, T, I, bool, bool>(), Takes<T, T, int64_t>(),
             // avg_pool2d, and backward ops
             Takes<T, Dims, Dims, Dims, bool, bool, MaybeInt>(),
             Takes<T, T, Dims, Dims, Dims, bool, bool, MaybeInt>(),
             Takes<T, T, Dims, Dims, Dims, Dims, bool, T>(),
             Takes<T, T, std::string_view>(), Takes<T, T, double>(),
             Takes<T, T, S, bool>(), Takes<T, T, I, I, bool>(),
             Takes<T, T, T, int64_t>(), Takes<T, T, T, MaybeT, int64_t, I, T>(),
             Takes<T, Is, int64_t, I>(), Takes<T, Is, int64_t, I, I, I>(),
             // gelu, argmax, cumsum, var, linalg_vector_norm, convolution
             Takes<T, std::string_view>(), Takes<T, MaybeInt, bool>(),
             Takes<T, int64_t, MaybeType>(),
             Takes<T, MaybeDims, MaybeS, bool>(),
             Takes<T, S, MaybeDims, bool, MaybeType>(),
             Takes<T, T, MaybeT, Is, Is, Is, bool, Is, I>(),
             // gather, index_select, repeat, flip, roll, constant_pad_nd
             Takes<T, int64_t, T, bool>(), Takes<T, int64_t, T>(),
             Takes<T, Is>(), Takes<T, Dims>(), Takes<T, Is, Dims>(),
             Takes<T, Is, S>()) ||
         // nll_loss_forward, max_pool2d_with_indices, max, sort, topk
         any(Returns<2>(), Takes<T, T, MaybeT, int64_t, I>(),
             Takes<T, Dims, Dims, Dims, Dims, bool>(),
             Takes<T, int64_t, bool>(), Takes<T, I, int64_t, bool, bool>(),
             Takes<T, std::optional<bool>, int64_t, bool>()) ||
         // layer_norm, group_norm, batch_norm
         any(Returns<3>(), Takes<T, Is, MaybeT, MaybeT, double>(),
             Takes<T, T, Is, T, T, MaybeT, MaybeT, Mask>(),
             Takes<T, MaybeT, MaybeT, I, I, I, int64_t, double>(),
             Takes<T, T, T, T, MaybeT, I, I, I, int64_t, Mask>(),
             Takes<T, MaybeT, MaybeT, MaybeT, MaybeT, bool, double, double>(),
             Takes<T, T, MaybeT, MaybeT, MaybeT, MaybeT, MaybeT, bool, double,
                   Mask>());
}

/// The same for ops that PyTorch composes of others.
template <typename Visit>
bool visitComposite(const c10::FunctionSchema &schema, Visit visit) {
  using T = at::Tensor;
  using MaybeT = std::optional<at::Tensor>;
  using I = c10::SymInt;
  using Is = c10::SymIntArrayRef;
  using Dims = at::IntArrayRef;
  using MaybeReal = std::optional<double>;
  if (visitArguments(schema, visit))
    return true;
  auto any = [&](auto... lists) {
    return (detail::visitIf(schema, lists, visit) || ...);
  };
  return detail::returnsTensors(schema, 1) &&
         any(
             // linear, conv1d to conv3d, attention, einsum
             Takes<T, T, MaybeT>(), Takes<T, T, MaybeT, Is, Is, Is, I>(),
             Takes<T, T, T, MaybeT, double, bool, MaybeReal, bool>(),
             Takes<std::string_view, at::TensorList, at::OptionalIntArrayRef>(),
             // layer_norm, group_norm, batch_norm, rms_norm
             Takes<T, Is, MaybeT, MaybeT, double, bool>(),
             Takes<T, int64_t, MaybeT, MaybeT, double, bool>(),
             Takes<T, MaybeT, MaybeT, MaybeT, MaybeT, bool, double, double,
                   bool>(),
             Takes<T, Is, MaybeT, MaybeReal>(),
             // var, softmax, dropout, pooling, tile, pad
             Takes<T, at::OptionalIntArrayRef, bool, bool>(),
             Takes<T, int64_t, detail::MaybeType>(), Takes<T, double, bool>(),
             Takes<T, Dims, Dims, Dims, Dims, bool>(), Takes<T, Is>(),
             Takes<T, Is, std::string_view, MaybeReal>(),
             // cross_entropy_loss, nll_loss_nd, l1_loss
             Takes<T, T, MaybeT, int64_t, I, double>(),
             Takes<T, T, MaybeT, int64_t, I>(), Takes<T, T, int64_t>());
}

} // namespace ltc::backend
