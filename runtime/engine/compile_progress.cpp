//===- compile_progress.cpp - A long compile says that it runs --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/compile_progress.h"

#include "ltc/log.h"
#include "ltc/thread.h"

#include <unistd.h>

namespace ltc::runtime {

namespace {

std::string describe(const Graph &graph) {
  std::string text = "compiling a graph of " +
                     std::to_string(graph.nodes.size()) +
                     (graph.nodes.size() == 1 ? " op" : " ops");
  if (std::string place = sourceOf(graph.endedBy).str(); !place.empty())
    text += " for " + place;
  return text;
}

/// A terminal that is gone is nobody's loss.
void show(const std::string &text) {
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, text.data(), text.size());
}

bool showsOnTerminal() {
  return logs(LogLevel::Warn, Stage::Codegen) && ::isatty(STDERR_FILENO);
}

} // namespace

CompileProgress::CompileProgress(const Graph &graph,
                                 std::chrono::milliseconds patience)
    : what(describe(graph)), onTerminal(showsOnTerminal()) {
  if (!onTerminal && !logs(LogLevel::Info, Stage::Codegen))
    return;
  thread = startThread([this, patience] { watch(patience); });
}

CompileProgress::~CompileProgress() {
  {
    std::lock_guard lock(mutex);
    ended = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

bool CompileProgress::endsWithin(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, time, [&] { return ended; });
}

void CompileProgress::watch(std::chrono::milliseconds patience) {
  auto start = std::chrono::steady_clock::now();
  if (endsWithin(patience))
    return;
  if (!onTerminal)
    return log(LogLevel::Info, Stage::Codegen, what);
  do {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::steady_clock::now() - start);
    // To the start of the line, and clear what is behind.
    show("\r[ltc] " + what + " ... " + std::to_string(seconds.count()) +
         " s\x1b[K");
  } while (!endsWithin(std::chrono::seconds(1)));
  show("\r\x1b[K");
}

} // namespace ltc::runtime
