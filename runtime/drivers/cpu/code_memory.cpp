//===- code_memory.cpp - Executable memory that programs share --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "code_memory.h"

#include "map_limit.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace ltc::cpu {

/// A thousand small programs; what is not used of it is address space alone.
static constexpr size_t kRegionBytes = size_t(4) << 20;

size_t CodeMemory::pageBytes() {
  static const auto page = size_t(sysconf(_SC_PAGESIZE));
  return page;
}

CodeMemory::~CodeMemory() {
  for (auto &[start, region] : regions)
    munmap(start, region.bytes);
}

size_t CodeMemory::reserved() const {
  std::lock_guard lock(mutex);
  size_t sum = 0;
  for (const auto &[start, region] : regions)
    sum += region.bytes;
  return sum;
}

/// The first hole that is large enough; nullptr if there is none.
char *CodeMemory::take(Regions::iterator region, size_t bytes) {
  auto &[start, inside] = *region;
  auto hole = std::ranges::find_if(
      inside.holes, [&](const auto &hole) { return hole.second >= bytes; });
  if (hole == inside.holes.end())
    return nullptr;
  auto [at, free] = *hole;
  inside.holes.erase(hole);
  if (free > bytes)
    inside.holes.emplace(at + bytes, free - bytes);
  return start + at;
}

CodeMemory::Regions::iterator CodeMemory::addRegion(size_t bytes) {
  bytes = std::max(bytes, kRegionBytes);
  void *start = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     /*offset=*/0);
  if (start == MAP_FAILED)
    return regions.end();
  warnNearMapLimit();
  return regions
      .emplace(static_cast<char *>(start), Region{bytes, {{0, bytes}}})
      .first;
}

CodeMemory::Block CodeMemory::allocate(size_t bytes) {
  size_t page = pageBytes();
  Block block{nullptr, std::max((bytes + page - 1) / page * page, page)};
  {
    std::lock_guard lock(mutex);
    for (auto region = regions.begin(); !block.data && region != regions.end();
         ++region)
      block.data = take(region, block.bytes);
    if (!block.data)
      if (auto region = addRegion(block.bytes); region != regions.end())
        block.data = take(region, block.bytes);
  }
  if (!block.data ||
      mprotect(block.data, block.bytes, PROT_READ | PROT_WRITE) == 0)
    return block;
  int why = errno;
  giveBack(block);
  errno = why;
  return {};
}

bool CodeMemory::seal(Block block, size_t bytes) {
  // Its neighbours are like that, and so it joins their map.
  return mprotect(block.data, bytes, PROT_READ | PROT_EXEC) == 0;
}

void CodeMemory::release(Block block) {
  // What it held is gone at once. It stays in the map of its neighbours, as
  // zeros that nobody runs: taking it out would cut that map in two.
  madvise(block.data, block.bytes, MADV_DONTNEED);
  seal(block, block.bytes);
  giveBack(block);
}

void CodeMemory::giveBack(Block block) {
  std::lock_guard lock(mutex);
  auto region = std::prev(regions.upper_bound(block.data));
  auto &[start, inside] = *region;
  auto at = size_t(block.data - start);
  auto hole = inside.holes.emplace(at, block.bytes).first;
  if (auto next = std::next(hole);
      next != inside.holes.end() && at + block.bytes == next->first) {
    hole->second += next->second;
    inside.holes.erase(next);
  }
  if (hole != inside.holes.begin())
    if (auto before = std::prev(hole); before->first + before->second == at) {
      before->second += hole->second;
      inside.holes.erase(hole);
    }
  // One stays for what is loaded next.
  if (inside.isEmpty() && std::ranges::count_if(regions, [](const auto &each) {
                            return each.second.isEmpty();
                          }) > 1) {
    munmap(start, inside.bytes);
    regions.erase(region);
  }
}

} // namespace ltc::cpu
