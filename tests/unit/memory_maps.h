//===- memory_maps.h - The memory maps of the test's process ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace maps {

struct Map {
  uintptr_t begin, end;
  std::string access; ///< "r-xp"
};

inline std::vector<Map> all() {
  std::ifstream file("/proc/self/maps");
  std::vector<Map> maps;
  for (std::string line; std::getline(file, line);) {
    Map map;
    char dash;
    std::istringstream(line) >> std::hex >> map.begin >> dash >> map.end >>
        map.access;
    maps.push_back(map);
  }
  return maps;
}

/// "r-x", or nothing where no map is.
inline std::string accessOf(const void *data) {
  auto address = reinterpret_cast<uintptr_t>(data);
  for (const Map &map : all())
    if (map.begin <= address && address < map.end)
      return map.access.substr(0, 3);
  return "";
}

/// How many the system allows; 0 if that is more than a test should use up.
inline size_t limit() {
  size_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  return limit > 300'000 ? 0 : limit;
}

/// Takes maps until only so many are left, as long as it lives.
class Filler {
public:
  explicit Filler(size_t left) {
    auto page = size_t(sysconf(_SC_PAGESIZE));
    size_t wanted = limit() - left - all().size();
    bytes = (wanted + 1) * page;
    start = static_cast<char *>(
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    // Every second page another kind of map: two more with each.
    for (size_t at = page; at + page < bytes; at += 2 * page)
      if (mprotect(start + at, page, PROT_READ) != 0)
        break;
  }
  ~Filler() { munmap(start, bytes); }

private:
  char *start;
  size_t bytes;
};

} // namespace maps
