//===- block_pool.h - Memory of a device, kept for reuse --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"

#include <cstddef>
#include <list>
#include <map>
#include <mutex>

namespace ltc {

/// Allocates in rounded sizes and keeps what is freed for the best fit. Any
/// thread. What is allocated and what is kept never exceed the highest
/// allocation so far by more than `slack`.
class BlockPool {
public:
  struct Block {
    void *data = nullptr; ///< nullptr: out of memory
    size_t bytes = 0;     ///< as rounded
  };
  Block allocate(size_t bytes);
  void free(Block block);
  ltc_memory memory(bool resetPeak);
  /// To the system, all that is kept, for others that take their memory there.
  void giveBack();

protected:
  explicit BlockPool(size_t limit) : limit(limit) {}
  /// A class that is derived gives back all it keeps first: releaseUntil(0).
  virtual ~BlockPool() = default;

  /// Aligned to 64 bytes; nullptr: none left.
  virtual void *fromSystem(size_t bytes) = 0;
  virtual void toSystem(Block block) = 0;
  void releaseUntil(size_t reserved);

private:
  struct Kept {
    Block block;
    std::list<std::multimap<size_t, Kept>::iterator>::iterator age;
  };
  using KeptMap = std::multimap<size_t, Kept>;

  Block reuse(size_t rounded);
  void release(KeptMap::iterator kept);

  static constexpr size_t slack = size_t(64) << 20;

  std::mutex mutex;
  KeptMap kept;                      ///< by size
  std::list<KeptMap::iterator> ages; ///< oldest first
  const size_t limit;
  size_t highest = 0; ///< like max_allocated, but never reset
  ltc_memory stats = {};
};

} // namespace ltc
