//===- graph/failed_nodes.h - Values that will never come -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph that fails loses nothing. Tensors that had a value before it get that
// back once somebody has got the error (standing() in device_data.h); a tensor
// that it was to make has none, and whoever reads it gets the error. Nodes that
// are computed from such a value are taken out of the pending ones, so that
// they do not make what is recorded after the failure fail with them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// A failure that no launch stands for. Shared by all that it leaves without a
/// value.
struct HostFailure {
  HostFailure(Error error, std::shared_ptr<const void> kept = nullptr)
      : error(std::move(error)), kept(std::move(kept)) {
    anyFailure.store(true, std::memory_order_relaxed);
  }

  const Error error;
  const std::shared_ptr<const void> kept; ///< what Engine::launch() keeps
  /// Of a value that failed, and of which nobody knew yet: it is told with it.
  BufferPtr cause;
  std::atomic<bool> isTold = false;
};

BufferPtr failedBuffer(const TensorType &type,
                       std::shared_ptr<HostFailure> failure);
/// Of a value that is not computed: to read it is this error.
BufferPtr unrunBuffer(const TensorType &type, Error reason);

/// The buffer of a failed value that this one is, or is computed from; null if
/// it may come. With the list's lock.
BufferPtr failureOf(const Operand &operand);

/// Gives what is pending and computed from a failed value the error of that.
/// With the device's syncMutex, and without the list's lock.
void settleFailed(PendingList &list, int64_t device);

} // namespace ltc::backend
