//===- graph/immediate.h - Programs that read all the time ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that does little else than to read what a few small calls make,
// such as non-maximum suppression by hand, gains nothing from a call that is
// recorded: its node is run a moment later. Once most calls have gone that way,
// calls on small values that are there run when they are made
// (record/immediate_call.h). That ends with a call that autograd follows, with
// a graph of more than a few calls, and with many calls without a look at a
// value: there a graph may serve better.
//
// Of each thread, so that threads leave each other's order alone. Nothing here
// looks at a clock: a program that is run again does the same again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

/// So many calls have run on the host, without a graph, for a read or for an op
/// whose sizes depend on values.
void noteHostCalls(size_t calls);
/// A graph of so many calls has ended.
void noteGraph(size_t calls);
/// The program has looked at a value.
void noteLook();
/// Calls are recorded until there is new evidence.
void endImmediate();

namespace detail {
extern std::atomic<bool> anyImmediate; ///< has been, on any thread
bool isImmediate(int64_t device);
} // namespace detail
/// Whether a call may run at once; counts it.
inline bool isImmediate(int64_t device) {
  return detail::anyImmediate.load(std::memory_order_relaxed) &&
         detail::isImmediate(device);
}

/// The values of data that is ready and has at most 4,096 elements, as a CPU
/// tensor that owns them; undefined for other data. With the pending list's
/// lock.
const at::Tensor &smallValues(DeviceData &data);

} // namespace ltc::backend
