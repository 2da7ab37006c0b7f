//===- record/direct.h - Calls met before, without detours ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation unwraps the tensors of a call, dispatches it once more, and
// wraps what comes back; for an in-place op it also makes a tensor that takes
// the place of the written one's inside. A call that equals an earlier one can
// be recorded from the wrappers at once. Whatever is out of the ordinary (a new
// shape, a view, another device) goes the long way, which handles all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/call_reader.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <torch/library.h>

#include <span>

namespace ltc::backend {

/// Whether calls of the op may do without detours just now: not those of an op
/// that record() does more for, and none that a TorchDispatchMode is to see.
bool isUnwatched(const OpInfo &info);

/// Whether calls of the op may be recorded directly just now: not those of an
/// op that record() does more for than to add a node, and none that a
/// TorchDispatchMode is to see.
bool isOrdinary(const OpInfo &info);

/// Wraps a result for the program as the op's kernel would.
at::Tensor wrapResult(const OpInfo &info, const at::Tensor &bare);

/// Records a call of an op that returns as many tensors as `results`, and gives
/// them, wrapped. False: that cannot be done directly, and nothing has been
/// done. Further results, from the last on, become the values of what is in
/// `updated`.
bool recordDirectly(CallReader &call, std::span<at::Tensor> results,
                    c10::ArrayRef<const at::Tensor *> updated = {});
/// The same of any op, whose arguments on the stack give way to the results.
bool recordDirectly(CallReader &call, torch::jit::Stack &stack);
/// The same of an op that returns one tensor, which it gives bare. Undefined:
/// as above.
at::Tensor recordBare(CallReader &call);
/// The same of a call without tensors.
at::Tensor recordFactory(CallReader &call);

/// Records a call and gives `self`, its first argument, the result's value.
/// Only for a tensor that is alone. False: as above.
bool updateDirectly(const at::Tensor &self, CallReader &call);

/// The same of a call that does not take `self`, and has one result of its
/// sizes and dtype.
bool replaceDirectly(const at::Tensor &self, CallReader &call);

/// The same for lists of tensors, none of them twice, and as many results; null
/// for one that keeps its value.
bool updateDirectly(c10::ArrayRef<const at::Tensor *> selves, CallReader &call);

/// Gives `self` the value of a bare result of its sizes: what updateDirectly()
/// would have done had the call been met before. False: as above.
bool takeValue(const at::Tensor &self, const at::Tensor &result);

} // namespace ltc::backend
