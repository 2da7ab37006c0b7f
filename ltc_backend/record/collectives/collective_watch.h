//===- collectives/collective_watch.h - Groups that wait --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/collectives/collective_group.h"

#include <memory>

namespace ltc::backend {

/// What is known of a process group whose lazy tensors Gloo carries; null of
/// others. From its first use on, a thread looks now and then whether its calls
/// wait in vain.
std::shared_ptr<CollectiveGroup> watchedGroup(c10d::ProcessGroup &group);

/// Ends the thread, if no store keeps it waiting; the next watchedGroup() of a
/// new group starts it anew.
void stopWatching();

} // namespace ltc::backend
