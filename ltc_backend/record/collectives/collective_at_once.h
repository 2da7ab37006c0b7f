//===- collectives/collective_at_once.h - Called by its thread --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective that no graph begins: the thread that calls it computes what it
// reads, and hands the memory to the library.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/collectives/collective_work.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace ltc::backend {

/// One call, with the program's tensors.
struct CallAtOnce {
  const Collective &kind;
  c10::OperatorHandle op;
  std::vector<c10::IValue> arguments;
  CollectiveCall call;

  bool isFilled(size_t argument) const {
    return kind.access == Access::Fill && argument == 0;
  }
};

/// Makes the call, and adds what it returns.
void callAtOnce(CallAtOnce given, torch::jit::Stack &results);

/// As much of the same as a batch of calls needs. One graph for all that they
/// read.
void computeRead(c10::ArrayRef<CallAtOnce> calls);
/// The call's arguments for the library: its tensors, and the group that has it
/// for those.
torch::jit::Stack lendTo(CollectiveTensors &tensors, const CallAtOnce &given);
/// Has the library begin; its results take the arguments' place.
void begin(const c10::OperatorHandle &op, torch::jit::Stack &arguments,
           const CollectiveCall &call);

} // namespace ltc::backend
