//===- background_compiles.h - Compiles that nobody waits for ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "engine/program.h"

#include "ltc/settings.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

namespace ltc::runtime {

/// One at a time, on a thread of lowest priority that is made for the first
/// one. Any thread, but for its own.
class BackgroundCompiles {
public:
  struct Request {
    Hash128 key;
    Graph graph;
    Settings settings; ///< as they were when it was asked for
    /// What serves the graph until then.
    std::shared_ptr<Program> forAllSizes;
  };
  using Compile = std::function<void(Request)>;

  /// Each request waits with its whole graph, so that there are few.
  static constexpr size_t kMaxWaiting = 4;

  /// `compile` runs on the thread, with the request's settings.
  explicit BackgroundCompiles(Compile compile) : compile(std::move(compile)) {}
  ~BackgroundCompiles() { close(); }
  BackgroundCompiles(const BackgroundCompiles &) = delete;
  BackgroundCompiles &operator=(const BackgroundCompiles &) = delete;

  bool hasRoom() const { return room; }
  /// Whether that graph waits or is being compiled now.
  bool add(Request request);
  /// Drops what waits, has what runs stop at the next stage of the compiler,
  /// and waits for that. Nothing is added any more. Idempotent.
  void close();

  bool isOwnThread() const;
  /// Set by close().
  const std::atomic<bool> &stopping() const { return closed; }

private:
  void start();
  void loop();

  const Compile compile;
  std::atomic<bool> closed = false, room = true;
  std::atomic<std::thread::id> worker;
  std::mutex mutex, joining;
  std::condition_variable changed;
  std::deque<Request> waiting;
  std::optional<Hash128> running;
  std::thread thread;
};

} // namespace ltc::runtime
