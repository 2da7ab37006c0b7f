//===- record/recorder.h - A torch op call becomes an LTC node --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"
#include "ltc_backend/tensors/pending.h"

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

namespace ltc::backend {

/// Records the call on the stack and replaces it by its results, or runs it
/// eagerly where no graph can hold it.
void record(const OpInfo &info, torch::jit::Stack &stack);

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

} // namespace ltc::backend
