//===- code_memory.h - Executable memory that programs share ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace ltc::cpu {

/// Hands out pages for code, which are written first and run then, and never
/// both at a time. They come from large regions, in which pages that run are
/// one memory map however many programs they belong to: Linux gives a process
/// 65,530 maps, and a map or two for each program would be too many. Any
/// thread.
class CodeMemory {
public:
  CodeMemory() = default;
  ~CodeMemory();
  CodeMemory(const CodeMemory &) = delete;
  CodeMemory &operator=(const CodeMemory &) = delete;

  struct Block {
    char *data = nullptr; ///< nullptr: there is no memory, and errno says why
    size_t bytes = 0;     ///< whole pages
  };
  /// Zeros, to be written to.
  Block allocate(size_t bytes);
  /// Makes the first `bytes`, whole pages, code that can be run and not be
  /// written to. False if the system refuses; errno says why.
  static bool seal(Block block, size_t bytes);
  void release(Block block);

  static size_t pageBytes();
  /// Address space that is taken, used or not.
  size_t reserved() const;

private:
  struct Region {
    size_t bytes = 0;
    std::map<size_t, size_t> holes; ///< free bytes by where they begin
    bool isEmpty() const {
      return !holes.empty() && holes.begin()->second == bytes;
    }
  };
  using Regions = std::map<char *, Region>; ///< by their first byte

  char *take(Regions::iterator region, size_t bytes);
  Regions::iterator addRegion(size_t bytes);
  void giveBack(Block block);

  mutable std::mutex mutex;
  Regions regions; ///< at most one of them empty
};

} // namespace ltc::cpu
