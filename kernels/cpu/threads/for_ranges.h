//===- for_ranges.h - A parallel loop that may throw ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "parallel.h"

#include <exception>
#include <mutex>

namespace ltc::kernels {

/// `work` on ranges of [0, count), on all threads. Throws what one of them
/// threw.
template <typename Work> void forRanges(int64_t count, const Work &work) {
  struct Call {
    const Work &work;
    std::mutex mutex;
    std::exception_ptr failure;
  } call{work, {}, nullptr};
  parallelFor(
      count, 1,
      [](int64_t begin, int64_t end, void *data) {
        auto &call = *static_cast<Call *>(data);
        try {
          call.work(begin, end);
        } catch (...) {
          std::lock_guard lock(call.mutex);
          call.failure = std::current_exception();
        }
      },
      &call);
  if (call.failure)
    std::rethrow_exception(call.failure);
}

} // namespace ltc::kernels
