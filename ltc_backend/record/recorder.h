//===- record/recorder.h - A torch op call becomes an LTC node --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/dispatch_mode.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/op_info.h"

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Records the call on the stack and replaces it by its results, or runs it
/// eagerly where no graph can hold it.
void record(const OpInfo &info, torch::jit::Stack &stack);

/// record() for one op, without looking it up.
struct RecordKernel final : c10::OperatorKernel {
  explicit RecordKernel(const OpInfo &info) : info(info) {}
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet,
                  torch::jit::Stack *stack) {
    if (isCalledByHandler())
      return callFunctionalised(op, stack);
    record(info, *stack);
  }
  const OpInfo &info;
};

class CallReader;
using Results = c10::SmallVector<at::Tensor, 2>;

/// The steps of record(). With the list's lock: the call's node, and the first
/// `count` tensors it returns, bare, pending, and without sizes until finish().
/// Throws what eager says of a number that does not fit. Draws a seed for an op
/// that wants one.
std::shared_ptr<OpNode> addNode(CallReader &call, PendingList &list,
                                std::shared_ptr<const CallShape> shape,
                                SourceId source);
void addResults(PendingList &list, const std::shared_ptr<OpNode> &node,
                size_t count, Results &results);
/// Whether it is time to run what is pending. With the lock.
bool isFull(const PendingList &list);
/// Does so. Without the lock.
void endFullGraph(int64_t device);
/// Without the lock: gives a result its sizes, and puts all of them, wrapped,
/// on the stack.
at::Tensor finish(at::Tensor result, const OpNode &node, size_t index,
                  int64_t byteOffset);
void pushResults(torch::jit::Stack &stack, const OpNode &node, Results results,
                 int64_t byteOffset);

/// Records one call whose schema returns a tensor; the result is bare.
at::Tensor recordOne(const OpInfo &info, torch::jit::Stack stack);

/// fallback.cpp: syncs the operands in one graph, runs the CPU kernel, counts.
void runFallback(const OpInfo &info, torch::jit::Stack &stack,
                 const std::string &reason);

/// shape_rule.cpp: result shapes from PyTorch's meta kernels. Returns null,
/// with the reason, if the op has no shape before it runs. Throws what the
/// meta kernel throws: PyTorch's own words about wrong shapes.
std::shared_ptr<CallShape> inferCall(const OpInfo &info,
                                     c10::ArrayRef<c10::IValue> arguments,
                                     std::string &reason);

/// cpu_check.cpp: throws what eager says of dtypes that its kernel has nothing
/// for, and of what else meta kernels and the compiler's rows would take.
void checkCall(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);
/// Throws if what is to be written into a view has not its size.
void checkSlice(const at::Tensor &slice, const at::Tensor &source);

/// random.cpp: with rng=eager, runs a random op on the CPU with the generator
/// that eager would use. False: the caller records it with a seed.
bool drawEagerly(const OpInfo &info, torch::jit::Stack &stack);
bool isRngEager();
/// random.cpp: throws what eager says of the numbers that a random op is given,
/// such as a standard deviation below zero. `key` is the call's.
void checkNumbers(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments,
                  Hash128 key, const OpNode::Operands &operands);
/// random.cpp: whether the numbers that are operands have passed that before.
/// Others are part of the key, and have if the call has been met.
bool havePassed(const OpInfo &info, Hash128 key,
                const OpNode::Operands &operands);
uint64_t drawSeed(const std::optional<at::Generator> &generator);

/// source_frame.cpp: the user's line for the op that is being recorded.
SourceId currentSource();

} // namespace ltc::backend
