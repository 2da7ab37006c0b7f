//===- work_list.h - What some steps have a GPU do --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gpu_calls.h"

namespace ltc::cuda {

/// Launches and library calls, one after the other, with their words. What
/// there is nothing to do for is not in it.
class WorkList {
public:
  struct Item {
    CUfunction function = nullptr;
    unsigned blocks = 0, threads = 0;
    size_t firstWord = 0, words = 0;
    GpuCalls::Id call = {}; ///< in the place of a function
    bool writesDonated = false;
    bool operator==(const Item &) const = default;
  };

  void clear();
  void addLaunch(CUfunction function, unsigned blocks, unsigned threads,
                 std::span<const int64_t> arguments);
  void addCall(GpuCalls::Id call, bool writesDonated,
               std::span<const int64_t> arguments);

  size_t calls() const; ///< how many are library calls
  size_t size() const { return items.size(); }
  const Item &operator[](size_t number) const { return items[number]; }
  /// What the driver wants: it writes to none of them.
  std::span<int64_t> wordsOf(size_t number) {
    return {words.data() + items[number].firstWord, items[number].words};
  }

  /// Whether only grids, words and how calls are bound differ.
  bool isLike(const WorkList &other) const;
  /// Whether one item is the same to the word.
  bool isSame(size_t number, const WorkList &other) const;

  /// Piece by piece.
  Outcome queue(Gpu &gpu, GpuCalls &calls, CUstream stream);

private:
  Outcome queueLaunch(Gpu &gpu, CUstream stream, size_t number);

  std::vector<Item> items;
  std::vector<int64_t> words;
};

} // namespace ltc::cuda
