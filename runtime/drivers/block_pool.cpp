//===- block_pool.cpp - Memory of a device, kept for reuse ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "block_pool.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ltc {

namespace {

constexpr size_t alignment = 64;

/// Up to the next of 32 steps between two powers of two, so that a block serves
/// again for about its size. With eight, the averages, gradients and parameters
/// of a model took up to an eighth more than they hold. 0 when that overflows.
size_t roundUp(size_t bytes) {
  if (bytes > PTRDIFF_MAX / 2)
    return 0;
  size_t step = std::max(std::bit_floor(bytes) / 32, alignment);
  return std::max((bytes + step - 1) / step * step, alignment);
}

} // namespace

BlockPool::Block BlockPool::reuse(size_t rounded) {
  auto found = kept.lower_bound(rounded);
  // A block that is much too large is worth more to a larger request.
  if (found == kept.end() || found->first > rounded + rounded / 8)
    return {};
  Block block = found->second.block;
  ages.erase(found->second.age);
  kept.erase(found);
  return block;
}

BlockPool::Block BlockPool::allocate(size_t bytes) {
  size_t rounded = roundUp(bytes);
  if (!rounded)
    return {};
  std::lock_guard lock(mutex);
  Block block = reuse(rounded);
  if (!block.data) {
    if (limit && rounded > limit - std::min(limit, stats.allocated))
      return {};
    if (limit)
      releaseUntil(limit - rounded);
    block = {fromSystem(rounded), rounded};
    if (!block.data) {
      releaseUntil(0);
      block.data = fromSystem(rounded);
    }
    if (!block.data)
      return {};
    stats.reserved += rounded;
  }
  stats.allocated += block.bytes;
  stats.max_allocated = std::max(stats.max_allocated, stats.allocated);
  highest = std::max(highest, stats.allocated);
  return block;
}

void BlockPool::free(Block block) {
  std::lock_guard lock(mutex);
  stats.allocated -= block.bytes;
  auto entry = kept.emplace(block.bytes, Kept{block, {}});
  entry->second.age = ages.insert(ages.end(), entry);
  releaseUntil(highest + slack);
}

void BlockPool::release(KeptMap::iterator entry) {
  Block block = entry->second.block;
  ages.erase(entry->second.age);
  kept.erase(entry);
  stats.reserved -= block.bytes;
  toSystem(block);
}

void BlockPool::releaseUntil(size_t reserved) {
  while (stats.reserved > reserved && !ages.empty())
    release(ages.front());
}

void BlockPool::giveBack() {
  std::lock_guard lock(mutex);
  releaseUntil(0);
}

ltc_memory BlockPool::memory(bool resetPeak) {
  std::lock_guard lock(mutex);
  if (resetPeak)
    stats.max_allocated = stats.allocated;
  return stats;
}

} // namespace ltc
