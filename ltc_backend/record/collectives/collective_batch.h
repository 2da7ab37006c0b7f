//===- collectives/collective_batch.h - Several calls as one ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL makes one call of all that a program calls between two calls of the
// group (ProcessGroup::startCoalescing), so that two ranks which send to each
// other do not wait for each other, and gives one Work for them. Here the calls
// are kept until the second: what they read is computed as one graph, and an
// error of one leaves the library nothing half done.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/collectives/collective_at_once.h"

namespace ltc::backend {

/// The calls of this thread are kept from now on, if the group's library makes
/// one of several; returns whether it does.
bool startBatch(c10d::ProcessGroup &group);
/// Adds it to the thread's batch of its group, if that has begun. As with NCCL,
/// it returns no Work.
bool addToBatch(CallAtOnce &given, torch::jit::Stack &results);
/// Makes the calls of a batch. Null if there were none.
c10::intrusive_ptr<c10d::Work> endBatch(c10d::ProcessGroup &group);

/// The ops by which Python begins and ends one.
void registerBatches();

} // namespace ltc::backend
