//===- reads/immediate.h - Values for calls that run at once ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls on small values that are there run when they are made
// (record/immediate_call.h) in a program that reads all the time
// (read_habit.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/reads/read_habit.h"
#include "ltc_backend/tensors/device_data.h"

namespace ltc::backend {

namespace detail {
bool runsAtOnce(int64_t device);
} // namespace detail
/// Whether a call may run at once; counts it.
inline bool isImmediate(int64_t device) {
  return readsAllTheTime() && detail::runsAtOnce(device);
}

/// The values of data that is ready and has at most 4,096 elements, as a CPU
/// tensor that owns them; undefined for other data. With the pending list's
/// lock.
const at::Tensor &smallValues(DeviceData &data);

} // namespace ltc::backend
