//===- collectives/collective_watch.cpp - Groups that wait ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_watch.h"

#include "ltc_backend/record/collectives/detached_thread.h"
#include "ltc_backend/record/collectives/gloo_tags.h"

namespace ltc::backend {

namespace {
struct Watch {
  DetachedThread thread; ///< its mutex guards the rest
  std::vector<std::shared_ptr<CollectiveGroup>> groups;

  void turn(DetachedThread::Lock &lock);
};
} // namespace

static Watch &watch() {
  static auto *only = new Watch;
  return *only;
}

void Watch::turn(DetachedThread::Lock &lock) {
  constexpr std::chrono::milliseconds kTick{500};
  if (!thread.pause(lock, kTick))
    return;
  std::erase_if(groups, [](const auto &group) { return group->isOver(); });
  auto looking = groups;
  lock.unlock();
  for (const auto &group : looking)
    group->look();
  looking.clear();
  lock.lock();
}

std::shared_ptr<CollectiveGroup> watchedGroup(c10d::ProcessGroup &group) {
  auto backend = group.getBackend(c10::DeviceType::Lazy);
  Watch &all = watch();
  std::lock_guard lock(all.thread.mutex);
  for (const auto &known : all.groups)
    if (known->isOf(*backend))
      return known;
  if (group.getSize() == 1 || !isGloo(*backend))
    return nullptr;
  all.groups.push_back(std::make_shared<CollectiveGroup>(group, backend));
  all.thread.start([&all](auto &held) { all.turn(held); });
  return all.groups.back();
}

void stopWatching() { watch().thread.stop(); }

} // namespace ltc::backend
