//===- compile_progress.h - A long compile says that it runs ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace ltc::runtime {

/// Lives as long as a compile. After `patience` it tells on standard error what
/// is compiled: on a terminal in one line that counts the seconds and vanishes
/// at the end; elsewhere in a line of the log, at level info.
class CompileProgress {
public:
  explicit CompileProgress(
      const Graph &graph,
      std::chrono::milliseconds patience = std::chrono::seconds(2));
  ~CompileProgress();
  CompileProgress(const CompileProgress &) = delete;
  CompileProgress &operator=(const CompileProgress &) = delete;

private:
  void watch(std::chrono::milliseconds patience);
  /// Waits that long; true if the compile ended.
  bool endsWithin(std::chrono::milliseconds time);

  const std::string what;
  const bool onTerminal;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::thread thread;
};

} // namespace ltc::runtime
