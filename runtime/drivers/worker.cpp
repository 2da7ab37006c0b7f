//===- worker.cpp - A worker thread that does what is queued --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "drivers/worker.h"

#include <utility>

namespace ltc::drivers {

void Fence::reach(Outcome outcome) {
  {
    std::lock_guard lock(mutex);
    came = std::move(outcome);
    when = std::chrono::steady_clock::now();
    reached = true;
  }
  changed.notify_all();
}

bool Fence::wait(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex);
  auto isReached = [&] { return reached; };
  if (time.count() < 0)
    changed.wait(lock, isReached);
  else
    changed.wait_for(lock, time, isReached);
  return reached;
}

int64_t Trace::now() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

void Trace::start() {
  std::lock_guard lock(mutex);
  spans.clear();
  isOn = true;
}

const std::vector<ltc_span> &Trace::stop() {
  std::lock_guard lock(mutex);
  isOn = false;
  return spans;
}

void Trace::add(const char *name, uint32_t lane, int64_t start) {
  if (!isOn.load(std::memory_order_relaxed))
    return;
  constexpr size_t most = 1'000'000;
  std::lock_guard lock(mutex);
  if (isOn && spans.size() < most)
    spans.push_back({name, lane, start, now()});
}

Queue::Queue(std::chrono::microseconds delay, Trace &trace, uint32_t lane)
    : delay(delay), trace(trace), lane(lane), worker([this] { loop(); }) {}

Queue::~Queue() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  arrived.notify_all();
  worker.join();
}

void Queue::push(const char *name, std::function<Outcome()> work,
                 bool mayBeSkipped) {
  enqueue([this, name, work = std::move(work), mayBeSkipped] {
    int64_t start = Trace::now();
    if (delay.count() > 0)
      std::this_thread::sleep_for(delay);
    Outcome outcome = isFailed && mayBeSkipped
                          ? Outcome({LTC_SKIPPED, "a launch before it failed"})
                          : work();
    trace.add(name, lane, start);
    isFailed |= outcome.has_value();
    if (!sinceFence)
      sinceFence = std::move(outcome);
  });
}

void Queue::resume() {
  enqueue([this] { isFailed = false; });
}

std::shared_ptr<Fence> Queue::record() {
  auto fence = std::make_shared<Fence>();
  enqueue(
      [this, fence] { fence->reach(std::exchange(sinceFence, std::nullopt)); });
  return fence;
}

void Queue::enqueue(std::function<void()> command) {
  {
    std::lock_guard lock(mutex);
    commands.push_back(std::move(command));
  }
  arrived.notify_one();
}

void Queue::loop() {
  std::unique_lock lock(mutex);
  while (true) {
    arrived.wait(lock, [&] { return closed || !commands.empty(); });
    if (commands.empty())
      return;
    std::function<void()> command = std::move(commands.front());
    commands.pop_front();
    lock.unlock();
    command();
    command = nullptr;
    lock.lock();
  }
}

} // namespace ltc::drivers
