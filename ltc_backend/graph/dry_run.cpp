//===- graph/dry_run.cpp - Compile what a program would run -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/dry_run.h"

#include "ltc/autopsy.h"
#include "ltc/settings.h"
#include "ltc/thread.h"
#include "ltc_backend/lazy_device.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace ltc::backend {

namespace {

/// As many threads as cores, made as they are needed.
class CompileThreads {
public:
  void add(Engine &engine, Graph graph, std::vector<DimMark> marks) {
    std::lock_guard lock(mutex);
    waiting.push_back({&engine, std::move(graph), std::move(marks),
                       CompileWatch::entered(), settings()});
    ++unfinished;
    if (threads < std::max(1u, std::thread::hardware_concurrency()) &&
        threads < unfinished) {
      ++threads;
      startThread([this] { work(); }).detach();
    }
    changed.notify_all();
  }

  Status finish() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return unfinished == 0; });
    Status first = std::move(failure);
    failure = {};
    return first;
  }

private:
  struct Work {
    Engine *engine;
    Graph graph;
    std::vector<DimMark> marks;
    CompileWatch::Entered guards; ///< of the thread that recorded it
    Settings settings;            ///< as they were then
  };

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return !waiting.empty(); });
      Work next = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      CompileWatch::exchange(std::move(next.guards));
      Result<ExecutablePtr> compiled = [&] {
        SettingsOfThread scope(next.settings);
        return next.engine->compile(next.graph, next.marks);
      }();
      CompileWatch::exchange({});
      lock.lock();
      if (!compiled && failure)
        failure = compiled.takeError();
      --unfinished;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> waiting;
  size_t unfinished = 0; ///< waiting, or being compiled
  size_t threads = 0;
  Status failure;
};

// Never destroyed: its threads wait for ever.
CompileThreads &threads() {
  static auto *threads = new CompileThreads;
  return *threads;
}

} // namespace

Error dryRunError() {
  return {ErrorCode::Unsupported,
          Stage::Execute,
          "this value was not computed: in a dry run graphs are compiled and "
          "not run",
          "",
          {},
          "read nothing there, or run without LTC_DRY_RUN"};
}

void compileInBackground(Engine &engine, Graph graph,
                         std::vector<DimMark> marks) {
  threads().add(engine, std::move(graph), std::move(marks));
}

Status finishCompiling() { return threads().finish(); }

} // namespace ltc::backend
