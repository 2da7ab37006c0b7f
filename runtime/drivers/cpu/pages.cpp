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
/// From the place in its page of one block to that of the next: 17 of a page's
/// 64 lines. Where blocks begin at one place, a walk down the columns of one
/// and of another meets in few sets of the cache: cumprod(0) of 64 x 1024
/// numbers took 2.7 times as long.
constexpr size_t stagger = 17 * alignment;

char *roundUp(char *address, size_t to) {
  auto number = reinterpret_cast<uintptr_t>(address);
  return reinterpret_cast<char *>((number + to - 1) / to * to);
}

char *roundDown(char *address, size_t to) {
  return address - reinterpret_cast<uintptr_t>(address) % to;
}

/// The pages that a block has for itself: all, or those in it.
struct OwnPages {
  OwnPages(char *block, size_t bytes)
      : begin(bytes >= hugePage ? roundDown(block, page)
                                : roundUp(block, page)),
        end(bytes >= hugePage ? roundUp(block + bytes, page)
                              : roundDown(block + bytes, page)) {}
  size_t bytes() const { return begin < end ? size_t(end - begin) : 0; }
  char *begin, *end;
};

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
  if (bytes >= hugePage) {
    size_t shift = nextShift;
    nextShift = (nextShift + stagger) % page;
    char *mapped = mapHuge(shift + bytes);
    return mapped ? mapped + shift : nullptr;
  }
  size_t whole = (bytes + alignment - 1) / alignment * alignment + stagger;
  if (!current || regions[current].used + whole > regionBytes) {
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
  region.used += whole;
  ++region.live;
  return block;
}

void Pages::clear(void *data, size_t bytes) {
  auto *block = static_cast<char *>(data), *end = block + bytes;
  OwnPages own(block, bytes);
  if (!own.bytes() || madvise(own.begin, own.bytes(), MADV_DONTNEED)) {
    std::memset(block, 0, bytes);
    return;
  }
  if (block < own.begin)
    std::memset(block, 0, size_t(own.begin - block));
  if (own.end < end)
    std::memset(own.end, 0, size_t(end - own.end));
}

void Pages::release(void *data, size_t bytes) {
  auto *block = static_cast<char *>(data);
  OwnPages own(block, bytes);
  if (bytes >= hugePage) {
    munmap(own.begin, own.bytes());
    return;
  }
  auto found = std::prev(regions.upper_bound(block));
  auto &[start, region] = *found;
  if (--region.live > 0) {
    if (own.bytes())
      madvise(own.begin, own.bytes(), MADV_DONTNEED);
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
