//===- collectives/collective_watch.cpp - Groups that wait ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_watch.h"

#include "ltc_backend/record/collectives/gloo_tags.h"

#include <condition_variable>
#include <thread>

namespace ltc::backend {

namespace {
struct Watch {
  std::mutex mutex; ///< guards all
  std::vector<std::shared_ptr<CollectiveGroup>> groups;
  std::condition_variable changed;
  bool runs = false, stops = false;

  void run();
};
} // namespace

/// Never destroyed: a thread that a store keeps waiting may outlive main().
static Watch &watch() {
  static auto *only = new Watch;
  return *only;
}

void Watch::run() {
  constexpr std::chrono::milliseconds kTick{500};
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, kTick, [this] { return stops; })) {
    std::erase_if(groups, [](const auto &group) { return group->isOver(); });
    auto looking = groups;
    lock.unlock();
    for (const auto &group : looking)
      group->look();
    looking.clear();
    lock.lock();
  }
  runs = stops = false;
  changed.notify_all();
}

std::shared_ptr<CollectiveGroup> watchedGroup(c10d::ProcessGroup &group) {
  auto backend = group.getBackend(c10::DeviceType::Lazy);
  Watch &all = watch();
  std::lock_guard lock(all.mutex);
  for (const auto &known : all.groups)
    if (known->isOf(*backend))
      return known;
  if (group.getSize() == 1 || !isGloo(*backend))
    return nullptr;
  all.groups.push_back(std::make_shared<CollectiveGroup>(group, backend));
  if (!std::exchange(all.runs, true))
    std::thread([&all] { all.run(); }).detach();
  return all.groups.back();
}

void stopWatching() {
  constexpr std::chrono::seconds kPatience{1};
  Watch &all = watch();
  std::unique_lock lock(all.mutex);
  all.stops = all.runs;
  all.changed.notify_all();
  all.changed.wait_for(lock, kPatience, [&] { return !all.runs; });
}

} // namespace ltc::backend
