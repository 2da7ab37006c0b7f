//===- backend/mutex_test.cpp - One thread at a time ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace ltc::backend {

TEST(Mutex, IsHeldByOne) {
  Mutex mutex;
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(Mutex, LosesNoUpdateAndWakesWhoWaits) {
  constexpr int kThreads = 4, kUpdates = 20000;
  Mutex mutex;
  long value = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < kUpdates; ++j) {
        std::lock_guard lock(mutex);
        ++value;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(value, long(kThreads) * kUpdates);
}

} // namespace ltc::backend
