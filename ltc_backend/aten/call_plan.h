//===- call_plan.h - One ATen call, bound to its attributes -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything about a call that can be known before it has operands: which
// operator, its attributes as a stack of IValues in schema order, and where in
// that stack each operand goes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace ltc::backend {

using Stack = std::vector<c10::IValue>;

/// Where operands go: one argument that is not an attribute.
struct Binding {
  enum Kind : uint8_t {
    Tensor,             ///< a tensor operand
    WrappedNumber,      ///< a scalar operand for a Tensor argument
    TensorList,         ///< Tensor[]
    OptionalTensorList, ///< Tensor?[]
    NumberList,         ///< scalar operands for a Tensor[]
    Scalar,             ///< a scalar operand, keeps its type
    Float,              ///< a scalar operand for a float
    Int,                ///< a scalar operand for an int
    Bool,               ///< a scalar operand for a bool
    ScalarList,         ///< Scalar[] of scalar operands
    FloatList,          ///< float[] of scalar operands
    IntList,            ///< int[] of scalar operands
  };
  Kind kind;
  uint32_t argument;             ///< place in the stack
  std::vector<ValueId> operands; ///< kNoValue for an absent list element
};

struct CallPlan {
  c10::OperatorHandle op;
  c10::Device device = c10::kCPU; ///< where operands and results are
  /// The same operator writing into given tensors, if ATen has a native one.
  std::optional<c10::OperatorHandle> out{};
  Stack arguments{}; ///< attributes and defaults; None where operands go
  std::vector<Binding> bindings{};
  std::optional<ValueId> seed{};       ///< operand that seeds a random op
  std::optional<uint32_t> generator{}; ///< place of the generator in the stack
  /// Which of the returned tensors output_mask asks for; empty: all.
  std::vector<bool> wanted{};
  /// The operator looks at strides or storage (as_strided, views), where a
  /// graph only knows dense row-major values.
  bool needsDense = false;
  /// By operand, if the operator may look at strides: the dimensions of a
  /// tensor as they are to lie in memory.
  std::vector<std::vector<int64_t>> orders{};
  std::string name; ///< "aten::add.Tensor"
  size_t operands = 0, results = 0;
};

/// A number where a tensor is wanted: it gives way in type promotion.
at::Tensor wrappedNumber(const at::Scalar &number);

/// See resolveKernel().
Result<CallPlan> planCall(const Graph &call, c10::Device device = c10::kCPU);

} // namespace ltc::backend
