//===- pages.h - Memory on huge pages -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <map>

namespace ltc::cpu {

/// Hands out blocks straight from the kernel, on huge pages where it has them.
/// Blocks that are smaller than such a page share it: they are cut one behind
/// the other from regions. What is released is the kernel's at once; a region's
/// addresses serve again when all of it is released. One thread at a time.
class Pages {
public:
  ~Pages();

  /// From this size on; smaller ones are better off elsewhere.
  static constexpr size_t smallest = size_t(128) << 10;

  /// Aligned to 64 bytes; in the first page of a huge one if it is as large.
  /// nullptr: none left.
  void *allocate(size_t bytes);
  /// `bytes` as they were asked for.
  void release(void *data, size_t bytes);
  /// Makes a block zeros, whose own pages are not resident until they are used.
  static void clear(void *data, size_t bytes);

private:
  struct Region {
    size_t bytes = 0;
    size_t used = 0; ///< up to here it was handed out
    size_t live = 0; ///< blocks that are not released
  };

  void leaveRegion();

  std::map<char *, Region> regions; ///< by their first byte
  char *current = nullptr;          ///< the region that is being cut
  size_t nextShift = 0; ///< of the next block on huge pages of its own
};

} // namespace ltc::cpu
