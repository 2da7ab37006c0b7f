//===- queue_test.cpp - The in-order queue of a device ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <utility>

using namespace ltc::runtime;

namespace {

class Call final : public Work {
public:
  explicit Call(std::function<void()> body, bool brief = false)
      : body(std::move(body)), brief(brief) {}
  bool isShort() const override { return brief; }
  Progress run(bool) override {
    body();
    return Progress::Done;
  }

private:
  std::function<void()> body;
  bool brief;
};

bool push(Queue &queue, std::function<void()> body, size_t limit = 0) {
  return queue.push(std::make_unique<Call>(std::move(body)), limit);
}

TEST(Queue, RunsInOrderOnOneThread) {
  Queue queue;
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(push(queue, [&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    }));
  queue.drain();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(order[size_t(i)], i);
    EXPECT_EQ(threads[size_t(i)], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
  EXPECT_EQ(queue.pending(), 0u);
}

TEST(Queue, RestsOnceWhenThereWasNothingToRunForAWhile) {
  std::atomic<int> rests = 0;
  std::thread::id resting;
  Queue queue([&] {
    resting = std::this_thread::get_id();
    ++rests;
    rests.notify_all();
  });
  for (int round = 0; round < 3; ++round) {
    std::promise<int> ran; // how often it had rested before
    std::thread::id running;
    push(queue, [&] {
      running = std::this_thread::get_id();
      ran.set_value(rests);
    });
    int before = ran.get_future().get();
    rests.wait(before);
    EXPECT_EQ(resting, running);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(rests, before + 1);
  }
}

bool pushShort(Queue &queue, std::function<void()> body) {
  return queue.push(std::make_unique<Call>(std::move(body), /*brief=*/true));
}

/// It may use what the thread keeps.
TEST(Queue, DoesNotRestWhileShortWorkRunsInPush) {
  std::atomic<int> rests = 0;
  Queue queue([&] { ++rests; });
  pushShort(queue, [&] {
    int before = rests;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(rests, before);
  });
}

TEST(Queue, ShortWorkRunsInPushWhenNothingWaits) {
  Queue queue;
  std::thread::id ran, ranBehind;
  EXPECT_TRUE(pushShort(queue, [&] { ran = std::this_thread::get_id(); }));
  EXPECT_EQ(ran, std::this_thread::get_id());
  EXPECT_EQ(queue.pending(), 0u);

  std::promise<void> gate;
  push(queue, [&] { gate.get_future().wait(); });
  pushShort(queue, [&] { ranBehind = std::this_thread::get_id(); });
  EXPECT_EQ(queue.pending(), 2u);
  gate.set_value();
  queue.drain();
  EXPECT_NE(ranBehind, std::thread::id());
  EXPECT_NE(ranBehind, std::this_thread::get_id());
}

TEST(Queue, PushWaitsForShortWorkRatherThanToQueueBehindIt) {
  Queue queue;
  std::promise<void> first, begun, second, third;
  push(queue, [&] { first.get_future().wait(); });
  pushShort(queue, [&] {
    begun.set_value();
    second.get_future().wait();
  });
  first.set_value();
  begun.get_future().wait();
  std::thread opener([&] { second.set_value(); });
  std::thread::id ran;
  queue.push(std::make_unique<Call>([&] { ran = std::this_thread::get_id(); },
                                    /*brief=*/true),
             /*limit=*/8);
  opener.join();
  EXPECT_EQ(ran, std::this_thread::get_id());

  // For what is not short nobody waits.
  push(queue, [&] { third.get_future().wait(); }, /*limit=*/8);
  queue.push(std::make_unique<Call>([] {}, /*brief=*/true), /*limit=*/8);
  EXPECT_EQ(queue.pending(), 2u);
  third.set_value();
  queue.drain();
}

TEST(Queue, ItsThreadHasTheDefaultFloatingPointModes) {
  std::fesetround(FE_UPWARD);
  Queue queue;
  std::fesetround(FE_TONEAREST);
  int mode = -1;
  push(queue, [&] { mode = std::fegetround(); });
  queue.drain();
  EXPECT_EQ(mode, FE_TONEAREST);
}

TEST(Queue, NothingRunsBesideShortWork) {
  Queue queue;
  std::atomic<bool> running = false;
  std::vector<int> order;
  auto body = [&](int number) {
    EXPECT_FALSE(running.exchange(true));
    order.push_back(number);
    std::this_thread::yield();
    EXPECT_TRUE(running.exchange(false));
  };
  auto producer = [&](int first) {
    for (int i = first; i < 2000; i += 2)
      if (i % 3)
        pushShort(queue, [&, i] { body(i); });
      else
        push(queue, [&, i] { body(i); });
  };
  std::thread other(producer, 1);
  producer(0);
  other.join();
  queue.drain();
  EXPECT_EQ(order.size(), 2000u);
  // Each producer's own work, in its order.
  for (int parity : {0, 1}) {
    std::vector<int> own;
    std::ranges::copy_if(order, std::back_inserter(own),
                         [&](int i) { return i % 2 == parity; });
    EXPECT_TRUE(std::ranges::is_sorted(own));
  }
}

TEST(Queue, CloseWaitsForShortWork) {
  Queue queue;
  bool ended = false;
  std::thread closer;
  pushShort(queue, [&] {
    std::promise<void> begun;
    closer = std::thread([&] {
      begun.set_value();
      queue.close();
      EXPECT_TRUE(ended);
    });
    begun.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ended = true;
  });
  closer.join();
  EXPECT_FALSE(push(queue, [] {}));
}

TEST(Queue, DrainWaitsUntilWorkIsDestroyed) {
  Queue queue;
  auto token = std::make_shared<int>(0);
  std::weak_ptr<int> watch = token;
  push(queue, [kept = std::move(token)] {});
  queue.drain();
  EXPECT_TRUE(watch.expired());
}

TEST(Queue, ALimitBlocksTheProducer) {
  Queue queue;
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  push(queue, [opened] { opened.wait(); }, 2);
  push(queue, [] {}, 2);
  EXPECT_EQ(queue.pending(), 2u);
  auto third =
      std::async(std::launch::async, [&] { return push(queue, [] {}, 2); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  EXPECT_EQ(queue.pending(), 2u);
  EXPECT_TRUE(push(queue, [] {})); // no limit: goes in at once
  gate.set_value();
  EXPECT_TRUE(third.get());
  queue.drain();
}

TEST(Queue, CloseDrainsAndThenRefuses) {
  Queue queue;
  int ran = 0;
  for (int i = 0; i < 10; ++i)
    push(queue, [&] { ++ran; });
  queue.close();
  queue.close();
  EXPECT_EQ(ran, 10);
  EXPECT_FALSE(push(queue, [&] { ++ran; }));
  queue.drain();
  EXPECT_EQ(ran, 10);
}

TEST(Queue, CloseFreesABlockedProducer) {
  Queue queue;
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  push(queue, [opened] { opened.wait(); });
  auto blocked =
      std::async(std::launch::async, [&] { return push(queue, [] {}, 1); });
  auto closing = std::async(std::launch::async, [&] { queue.close(); });
  EXPECT_FALSE(blocked.get());
  gate.set_value();
  closing.get();
}

TEST(Queue, WorkMayPushMoreWork) {
  Queue queue;
  std::promise<void> second;
  push(queue, [&] { push(queue, [&] { second.set_value(); }); });
  second.get_future().wait();
  queue.drain();
  EXPECT_EQ(queue.pending(), 0u);
}

/// What a device does with one piece of work, as the test tells it.
struct Device {
  std::mutex mutex;
  std::condition_variable changed;
  int mayFinish = 0;               ///< so many of what was started
  std::vector<std::string> events; ///< of the queue's thread, and the test
  int failing = -1;                ///< number of the work that fails, once

  void add(const std::string &event) {
    std::lock_guard lock(mutex);
    events.push_back(event);
    changed.notify_all();
  }
  void finish(int count) {
    std::lock_guard lock(mutex);
    mayFinish += count;
    changed.notify_all();
  }
  void awaitEvent(const std::string &event) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return std::ranges::count(events, event) > 0; });
  }
};

class Started final : public Work {
public:
  Started(Device &device, int number, bool alone = false, bool brief = false)
      : device(device), name(std::to_string(number)), number(number),
        alone(alone), brief(brief) {}

  bool isShort() const override { return brief; }

  Progress run(bool) override {
    if (alone && !hasWaited) {
      hasWaited = true;
      device.add("later " + name);
      return Progress::Later;
    }
    device.add("run " + name);
    return Progress::GoesOn;
  }
  bool mayOverlap() const override { return !hasWaited; }
  bool isDone(std::chrono::nanoseconds time) override {
    std::unique_lock lock(device.mutex);
    return device.changed.wait_for(lock, time,
                                   [&] { return device.mayFinish > 0; });
  }
  bool succeeds() override {
    std::unique_lock lock(device.mutex);
    device.changed.wait(lock, [&] { return device.mayFinish > 0; });
    --device.mayFinish;
    return std::exchange(device.failing,
                         device.failing == number ? -1 : device.failing) !=
           number;
  }
  void takeBack() override { device.add("back " + name); }
  void finish() override { device.add("finish " + name); }

private:
  Device &device;
  const std::string name;
  const int number;
  const bool alone, brief;
  bool hasWaited = false;
};

using Events = std::vector<std::string>;

TEST(Queue, StartsWorkAheadOfWhatGoesOn) {
  Device device;
  Queue queue;
  for (int i = 0; i < 6; ++i)
    queue.push(std::make_unique<Started>(device, i));
  device.awaitEvent("run 3");
  EXPECT_EQ(queue.pending(), 6u);
  device.finish(1);
  device.awaitEvent("run 4");
  device.finish(5);
  queue.drain();
  Events wanted = {"run 0",    "run 1",    "run 2",    "run 3",
                   "finish 0", "run 4",    "finish 1", "run 5",
                   "finish 2", "finish 3", "finish 4", "finish 5"};
  EXPECT_EQ(device.events, wanted);
}

TEST(Queue, WhatStartedBehindAFailureRunsAgain) {
  Device device;
  device.failing = 1;
  Queue queue;
  for (int i = 0; i < 4; ++i)
    queue.push(std::make_unique<Started>(device, i));
  device.awaitEvent("run 3");
  device.finish(4);
  queue.drain();
  Events wanted = {"run 0",    "run 1",  "run 2",    "run 3",
                   "finish 0", "back 3", "back 2",   "finish 1",
                   "run 2",    "run 3",  "finish 2", "finish 3"};
  EXPECT_EQ(device.events, wanted);
}

TEST(Queue, OtherWorkWaitsForWhatGoesOn) {
  Device device;
  Queue queue;
  queue.push(std::make_unique<Started>(device, 0));
  queue.push(std::make_unique<Started>(device, 1, /*alone=*/true));
  push(queue, [&] { device.add("host"); });
  device.awaitEvent("later 1");
  device.finish(2);
  queue.drain();
  Events wanted = {"run 0", "later 1", "finish 0", "run 1", "finish 1", "host"};
  EXPECT_EQ(device.events, wanted);
}

TEST(Queue, FinishesWhatPushStarted) {
  Device device;
  Queue queue;
  queue.push(std::make_unique<Started>(device, 0, false, /*brief=*/true));
  EXPECT_EQ(device.events, Events{"run 0"});
  device.finish(1);
  queue.drain();
  EXPECT_EQ(device.events, (Events{"run 0", "finish 0"}));
}

TEST(Queue, ClosesWhenAllThatGoesOnIsFinished) {
  Device device;
  device.finish(3);
  {
    Queue queue;
    for (int i = 0; i < 3; ++i)
      queue.push(std::make_unique<Started>(device, i));
  }
  EXPECT_EQ(std::ranges::count(device.events, "finish 2"), 1);
}

} // namespace
