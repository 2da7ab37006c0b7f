//===- work_pool.cpp - Threads that compile parts of a graph --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/work_pool.h"

#include "ltc/thread.h"

#include "llvm/ADT/STLExtras.h"

#include <system_error>

namespace ltc::compiler {

WorkPool::~WorkPool() {
  wait();
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void WorkPool::asyncEnqueue(llvm::unique_function<void()> run,
                            llvm::ThreadPoolTaskGroup *group) {
  {
    std::lock_guard lock(mutex);
    tasks.push_back({std::move(run), group});
    try {
      if (workers.size() + 1 < threads)
        workers.push_back(startThread([this] { work(); }));
    } catch (const std::system_error &) {
      // The process may have no more of them: fewer do as well.
    }
  }
  changed.notify_all();
}

bool WorkPool::runOne(Group group, std::unique_lock<std::mutex> &lock) {
  auto found = llvm::find_if(tasks, [&](const Task &task) {
    return group == kAll || task.group == group;
  });
  if (found == tasks.end())
    return false;
  Task task = std::move(*found);
  tasks.erase(found);
  running.push_back(task.group);
  lock.unlock();
  task.run();
  task.run = {};
  lock.lock();
  running.erase(llvm::find(running, task.group));
  changed.notify_all();
  return true;
}

void WorkPool::runUntilDone(Group group) {
  std::unique_lock lock(mutex);
  for (;;) {
    if (runOne(group, lock))
      continue;
    if (group == kAll ? running.empty() : !llvm::is_contained(running, group))
      return;
    changed.wait(lock);
  }
}

void WorkPool::work() {
  std::unique_lock lock(mutex);
  while (!ending)
    if (!runOne(kAll, lock))
      changed.wait(lock);
  lock.unlock();
  if (threadEnds)
    threadEnds();
}

} // namespace ltc::compiler
