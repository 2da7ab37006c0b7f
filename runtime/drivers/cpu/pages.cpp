//===- pages.cpp - Memory on huge pages -------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pages.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <sys/mman.h>

namespace ltc::cpu {

namespace {

constexpr size_t page = 4096;
constexpr size_t hugePage = size_t(2) << 20;
constexpr size_t regionBytes = size_t(32) << 20;
constexpr size_t alignment = 64;

char *roundUp(char *address, size_t to) {
  auto number = reinterpret_cast<uintptr_t>(address);
  return reinterpret_cast<char *>((number + to - 1) / to * to);
}

/// Aligned to huge pages: fewer page faults and TLB misses.
char *mapHuge(size_t bytes) {
  void *mapped = mmap(nullptr, bytes + hugePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  auto *start = static_cast<char *>(mapped);
  char *aligned = roundUp(start, hugePage);
  char *end = roundUp(aligned + bytes, page), *last = start + bytes + hugePage;
  if (aligned != start)
    munmap(start, size_t(aligned - start));
  if (end < last)
    munmap(end, size_t(last - end));
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

} // namespace

Pages::~Pages() {
  for (auto &[start, region] : regions)
    munmap(start, region.bytes);
}

/// Leaves the region that is being cut. What is left of it goes back, or the
/// huge page in which its last block ends would be resident as a whole.
void Pages::leaveRegion() {
  Region &region = regions[current];
  char *end = roundUp(current + region.used, page);
  if (auto left = size_t(current + region.bytes - end)) {
    munmap(end, left);
    region.bytes -= left;
  }
}

void *Pages::allocate(size_t bytes) {
  if (bytes >= hugePage)
    return mapHuge(bytes);
  if (!current || regions[current].used + bytes > regionBytes) {
    char *start = mapHuge(regionBytes);
    if (!start)
      return nullptr;
    if (current)
      leaveRegion();
    current = start;
    regions[current] = {regionBytes};
  }
  Region &region = regions[current];
  char *block = current + region.used;
  region.used += (bytes + alignment - 1) / alignment * alignment;
  ++region.live;
  return block;
}

void Pages::clear(void *data, size_t bytes) {
  if (madvise(data, bytes, MADV_DONTNEED))
    std::memset(data, 0, bytes);
}

void Pages::release(void *data, size_t bytes) {
  auto *block = static_cast<char *>(data);
  if (bytes >= hugePage) {
    munmap(block, bytes);
    return;
  }
  auto found = std::prev(regions.upper_bound(block));
  auto &[start, region] = *found;
  if (--region.live > 0) {
    // The pages at both ends are its neighbours' too.
    char *first = roundUp(block, page);
    char *behind = roundUp(block + bytes - (page - 1), page);
    if (first < behind)
      madvise(first, size_t(behind - first), MADV_DONTNEED);
    return;
  }
  if (start == current) {
    madvise(start, regionBytes, MADV_DONTNEED);
    region.used = 0;
    return;
  }
  munmap(start, region.bytes);
  regions.erase(found);
}

} // namespace ltc::cpu
