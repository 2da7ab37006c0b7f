//===- convert.h - Between torch's values and ltc's -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types, and the schema arguments that are not tensors. Pure
// functions, any thread; nullopt means that the other side has no such value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

namespace ltc::backend {

/// nullopt for quantized, bit-packed and the rarer 8-bit float types.
LTC_API std::optional<DType> toDType(at::ScalarType type);
LTC_API at::ScalarType toScalarType(DType dtype);

/// What a schema argument may hold, as far as a graph is concerned.
enum class ArgumentKind : uint8_t {
  Tensor,     ///< Tensor or Tensor?
  TensorList, ///< Tensor[], Tensor?[], Tensor[]?
  Scalar,     ///< Scalar or Scalar?: int, float, bool
  ScalarList, ///< Scalar[]
  Float,      ///< float or float?
  FloatList,  ///< float[]
  Attribute,  ///< any other value that an Attribute can hold
  Placement,  ///< device, layout, pin_memory, generator: left out of a graph
  Refused,    ///< Storage, Stream, Dict, str[], …: never in a graph
};
LTC_API ArgumentKind kindOf(const c10::Argument &argument);

/// The value of a non-tensor argument. None gives monostate whatever the type;
/// ScalarType gives a DType; layouts and memory formats give their number; a
/// complex Scalar gives its two parts. nullopt for symbolic sizes, mixed
/// Scalar[], and for every kind that is not Scalar, Float, a list of them, or
/// Attribute.
LTC_API std::optional<Attribute> toAttribute(const c10::IValue &value,
                                             const c10::Argument &argument);

/// The inverse. Also accepts what other front ends write for the same thing:
/// an int for a float, one number for a list of known length, an empty list of
/// any type. nullopt when the attribute does not fit the argument.
LTC_API std::optional<c10::IValue> toIValue(const Attribute &attribute,
                                            const c10::Argument &argument);

} // namespace ltc::backend
