//===- background_compiles.cpp - Compiles that nobody waits for -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/background_compiles.h"

#include "ltc/thread.h"

#include <algorithm>
#include <pthread.h>

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace ltc::runtime {

void BackgroundCompiles::start() {
  thread = startThread([this] { loop(); });
  pthread_setname_np(thread.native_handle(), "ltc-background");
}

bool BackgroundCompiles::add(Request request) {
  std::lock_guard lock(mutex);
  if (running == request.key ||
      std::ranges::find(waiting, request.key, &Request::key) != waiting.end())
    return true;
  if (closed || waiting.size() >= kMaxWaiting)
    return false;
  if (!thread.joinable())
    start();
  waiting.push_back(std::move(request));
  room = waiting.size() < kMaxWaiting;
  changed.notify_one();
  return true;
}

void BackgroundCompiles::close() {
  std::deque<Request> dropped;
  {
    std::lock_guard lock(mutex);
    closed = true;
    room = false;
    dropped.swap(waiting);
  }
  changed.notify_one();
  std::lock_guard lock(joining);
  if (thread.joinable())
    thread.join();
}

bool BackgroundCompiles::isOwnThread() const {
  return worker == std::this_thread::get_id();
}

void BackgroundCompiles::loop() {
  worker = std::this_thread::get_id();
#if defined(__linux__)
  // Of this thread alone, there: steps come first wherever cores are short.
  setpriority(PRIO_PROCESS, 0, 19);
#endif
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return closed || !waiting.empty(); });
    if (closed)
      return;
    Request next = std::move(waiting.front());
    waiting.pop_front();
    room = true;
    running = next.key;
    lock.unlock();
    {
      Settings settings = next.settings;
      SettingsOfThread scope(settings);
      compile(std::move(next));
    }
    lock.lock();
    running.reset();
  }
}

} // namespace ltc::runtime
