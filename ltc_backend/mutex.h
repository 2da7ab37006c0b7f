//===- mutex.h - A mutex whose lock is inline -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several locks an op, which nobody waits for, are 2 % of an op's instructions
// as std::mutex. Waiting is std::mutex's: on the futex.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>

namespace ltc::backend {

class Mutex {
public:
  bool try_lock() {
    int free = kFree;
    return state.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void lock() {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  void unlock() {
    if (state.exchange(kFree, std::memory_order_release) == kWaitedFor)
        [[unlikely]]
      state.notify_one();
  }

private:
  enum : int { kFree, kHeld, kWaitedFor };

  [[gnu::noinline, gnu::cold]] void wait() {
    while (state.exchange(kWaitedFor, std::memory_order_acquire) != kFree)
      state.wait(kWaitedFor, std::memory_order_relaxed);
  }

  std::atomic<int> state{kFree};
};

} // namespace ltc::backend
