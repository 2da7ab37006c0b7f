//===- share_room.h - Memory by threads' shares of loops --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread writes to a line of memory when its core has the line alone. One
// that another core wrote or read in an earlier loop is asked for first: among
// cores of one third-level cache that takes some 50 ns, between those of two
// 350 (a virtual EPYC whose two cores were now here, now there; Winograd's
// transforms took 5 times as long, so that the second thread gained nothing).
// Therefore each thread's share of a loop has memory of its own, which stays
// where it is from call to call, whatever their sizes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "scratch.h"
#include "tensor_view.h"
#include "threads/parallel.h"

#include <algorithm>

namespace ltc::kernels {

/// A place for each of a loop's items, those of a thread's share side by side.
class Slots {
public:
  /// For `count` items of `size` floats each; ShareRoom gives the places.
  Slots(int64_t count = 0, int64_t size = 0) : count(count), size(size) {}

  /// `item` < `count`, which the loop takes in order.
  float *at(int64_t item) const {
    int64_t share = item * shares / count;
    int64_t first = ceilDiv(share * count, shares);
    return data + share * shareStride + (item - first) * size;
  }

private:
  friend class ShareRoom;

  int64_t floatsOfShare() const { return ceilDiv(count, shares) * size; }

  int64_t count, size;
  float *data = nullptr;
  int64_t shares = 1, shareStride = 0;
};

/// Made thread_local, as Scratch, by the thread that shares its loops.
class ShareRoom {
public:
  /// Places for all of them, of any values, until the next reserve().
  template <typename... AllSlots> void reserve(AllSlots &...slots) {
    int64_t shares = std::min<int64_t>(loopThreads(), kMostShares), floats = 0;
    ((slots.shares = shares, floats += slots.floatsOfShare()), ...);
    // Of another number of threads other places are each's.
    shareStride =
        shares == sharesBefore ? std::max(shareStride, floats) : floats;
    sharesBefore = shares;
    float *data = scratch.reserve(shares * shareStride);
    ((slots.data = data, slots.shareStride = shareStride,
      data += slots.floatsOfShare()),
     ...);
  }

private:
  /// Of more threads, neighbours have one together: each share has addresses
  /// for the most of all, if not memory.
  static constexpr int64_t kMostShares = 16;

  Scratch scratch;
  int64_t sharesBefore = 0;
  int64_t shareStride = 0; ///< the most floats that one of so many had so far
};

} // namespace ltc::kernels
