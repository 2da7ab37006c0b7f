//===- pool.h - Host memory, kept for reuse ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"
#include "pages.h"

#include <cstddef>
#include <list>
#include <map>
#include <mutex>

namespace ltc::cpu {

/// Allocates in rounded sizes, aligned to 64 bytes, and keeps what is freed
/// for the best fit. Any thread. What is allocated and what is kept never
/// exceed the highest allocation so far by more than `slack`.
class Pool {
public:
  explicit Pool(size_t limit) : limit(limit) {}
  ~Pool();

  struct Block {
    void *data = nullptr; ///< nullptr: out of memory
    size_t bytes = 0;     ///< as rounded
  };
  Block allocate(size_t bytes);
  void free(Block block);
  static void clear(Block block); ///< fills it with zeros
  ltc_memory memory(bool resetPeak);

private:
  struct Kept {
    Block block;
    std::list<std::multimap<size_t, Kept>::iterator>::iterator age;
  };
  using KeptMap = std::multimap<size_t, Kept>;

  void *fromSystem(size_t bytes);
  void toSystem(Block block);
  Block reuse(size_t rounded);
  void release(KeptMap::iterator kept);
  void releaseUntil(size_t reserved);

  static constexpr size_t slack = size_t(64) << 20;

  std::mutex mutex;
  Pages pages;
  KeptMap kept;                      ///< by size
  std::list<KeptMap::iterator> ages; ///< oldest first
  const size_t limit;
  size_t highest = 0; ///< like max_allocated, but never reset
  ltc_memory stats = {};
};

} // namespace ltc::cpu
