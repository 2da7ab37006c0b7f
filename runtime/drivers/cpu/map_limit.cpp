//===- map_limit.cpp - How many memory maps a process may have --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "map_limit.h"

#include "ltc/log.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

namespace ltc::cpu {

namespace {

/// Hands all that a file of /proc says to `visit`, in pieces. It allocates
/// nothing: there may be no memory to be had.
template <typename Visit> void readFile(const char *path, Visit visit) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  char text[4096];
  for (ssize_t got; (got = read(fd, text, sizeof(text))) > 0;)
    visit(std::string_view(text, size_t(got)));
  close(fd);
}

size_t mapLimit() {
  size_t limit = 0;
  readFile("/proc/sys/vm/max_map_count", [&](std::string_view text) {
    std::from_chars(text.data(), text.data() + text.size(), limit);
  });
  return limit;
}

size_t countMaps() {
  size_t count = 0;
  readFile("/proc/self/maps", [&](std::string_view text) {
    count += size_t(std::ranges::count(text, '\n'));
  });
  return count;
}

} // namespace

std::string whyNearMapLimit() {
  size_t limit = mapLimit(), count = countMaps();
  bool known = limit && count;
  if (!known || count < limit - limit / 8)
    return "";
  return "; the process has " + std::to_string(count) + " of " +
         std::to_string(limit) +
         " memory maps: raise the limit (sysctl -w vm.max_map_count=" +
         std::to_string(4 * limit) + "), or lower LTC_CACHE_MEMORY_BYTES";
}

void warnNearMapLimit() {
  static std::atomic<bool> told = false;
  if (told)
    return;
  std::string why = whyNearMapLimit();
  if (!why.empty() && !told.exchange(true))
    log(LogLevel::Warn, Stage::Execute, "memory will soon be refused" + why);
}

} // namespace ltc::cpu
