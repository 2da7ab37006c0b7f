//===- plugin_probe.cpp - Asks a plugin in a process of its own -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/plugin_probe.h"

#include "device/plugin_loader.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace ltc::runtime {

namespace {

// A plugin that is slower to load would make each start as slow.
constexpr auto kPatience = std::chrono::seconds(20);

/// Its exit status as waitpid() gives it; nothing if it was ended here.
std::optional<int> await(pid_t child) {
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto pause = std::chrono::microseconds(200);
  while (std::chrono::steady_clock::now() < deadline) {
    int status = 0;
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child)
      return status;
    if (ended < 0)
      return 0; // somebody else waits for all children
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return std::nullopt;
}

} // namespace

std::string whyUnusable(const std::string &path) {
  std::string probe = siblingLibrary("ltc-plugin-probe");
  if (access(probe.c_str(), X_OK) != 0)
    return "";
  std::string argument = path;
  char *arguments[] = {probe.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, probe.c_str(), nullptr, nullptr, arguments,
                  environ) != 0)
    return "";
  std::optional<int> status = await(child);
  if (!status)
    return "it does not answer: loading it and ltc_plugin_query take more than "
           "20 s";
  if (WIFSIGNALED(*status))
    return "it crashes when it is loaded and asked for its table: " +
           std::string(strsignal(WTERMSIG(*status)));
  if (WIFEXITED(*status) && WEXITSTATUS(*status) != 0)
    return "it ends the process when it is loaded and asked for its table, "
           "with exit status " +
           std::to_string(WEXITSTATUS(*status));
  return ""; // other faults are told where it is loaded in earnest
}

} // namespace ltc::runtime
