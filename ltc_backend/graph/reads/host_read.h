//===- reads/host_read.h - Small reads that need no graph -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that asks its padding mask whether it masks anything, or a loss
// that it has read whether it is finite, would end a graph in the middle of a
// step. Where few small ops lead to what is read, they run on the
// host, in eager's own kernels, and what is pending stays pending.
//
// Reads also keep loops without steps from becoming one endless graph. So a
// line that reads again ends the graph, unless it reads the same a second time,
// as a model does that looks at its mask for two kinds of attention, or numbers
// that are older than its first read, as those are by which layers of one class
// find their padding. Where nothing else is pending but views, a loop whose
// reads do not grow, or are of few ops, may read as often as it likes. What the
// host computes on the way to an operand is not computed again: tensors that
// wait for it are given it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// The value of a pending tensor that the program decides by, as a CPU tensor;
/// undefined if it has to come from the device. What is the same wherever it is
/// computed: integers, booleans, a comparison of fractions that the device has,
/// the greatest of them; and single numbers of any type. With tiers, all else
/// that a few ops make of little data where nothing else is pending.
at::Tensor decideOnHost(const TensorDataPtr &data);

/// Gives pending tensors of one device, the operands of an op that runs on the
/// host anyway, their values without a graph. All of them or, returning false,
/// none.
bool computeOnHost(c10::ArrayRef<TensorDataPtr> operands);

/// Whether nobody asks for programs, or for errors and values of another kind.
bool runsWithout(int64_t device);

} // namespace ltc::backend
