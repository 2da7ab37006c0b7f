//===- named_counts.h - Counts by names that come up ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace ltc::cuda {

/// Any thread.
class NamedCounts {
public:
  using Count = std::atomic<int64_t>;

  /// Stays where it is.
  Count &of(const std::string &name) {
    std::lock_guard lock(mutex);
    return all[name];
  }
  template <typename F> void forEach(F f) {
    std::lock_guard lock(mutex);
    for (const auto &[name, count] : all)
      f(name, int64_t(count));
  }

private:
  std::mutex mutex;
  std::map<std::string, Count> all;
};

} // namespace ltc::cuda
