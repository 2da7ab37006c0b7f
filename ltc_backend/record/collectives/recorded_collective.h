//===- collectives/recorded_collective.h - Calls as nodes -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors of the program are raised at the call. So the library itself is called
// with the first of equal calls; those after it are recorded, and cannot be
// wrong in themselves.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/collectives/collective_call.h"

#include "ltc/hash.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// A call that nodes can stand for.
struct RecordableCall {
  /// Nothing for calls that only the thread that makes them can wait for, or
  /// whose tensors a graph does not have, and where graphs run other than once.
  static std::optional<RecordableCall> of(const Collective &kind,
                                          const CollectiveCall &call,
                                          const c10::OperatorHandle &op,
                                          c10::ArrayRef<c10::IValue> arguments);

  /// Whether the library has taken an equal call.
  bool isKnown() const;
  void makeKnown() const;

  /// Records it: its results, with a Work that gives tensors their values.
  /// `arguments` have the group of groupIn().
  void record(const Collective &kind, CollectiveCall call,
              const c10::OperatorHandle &op, const c10::IValue &first,
              std::vector<c10::IValue> arguments,
              torch::jit::Stack &results) const;

  Hash128 key; ///< of all but the values
  int64_t device = -1, ranks = 0;
  std::vector<at::Tensor> read, written;
};

} // namespace ltc::backend
