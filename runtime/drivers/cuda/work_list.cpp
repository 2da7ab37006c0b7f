//===- work_list.cpp - What some steps have a GPU do ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "work_list.h"

#include <algorithm>

namespace ltc::cuda {

void WorkList::clear() {
  items.clear();
  words.clear();
}

void WorkList::addLaunch(CUfunction function, unsigned blocks, unsigned threads,
                         std::span<const int64_t> arguments) {
  items.push_back({function, blocks, threads, words.size(), arguments.size()});
  words.insert(words.end(), arguments.begin(), arguments.end());
}

bool WorkList::isLike(const WorkList &other) const {
  return std::ranges::equal(
      items, other.items, [](const Item &one, const Item &two) {
        return one.function == two.function && one.threads == two.threads &&
               one.words == two.words;
      });
}

bool WorkList::isSame(size_t number, const WorkList &other) const {
  const Item &item = items[number];
  auto begin = words.begin() + ptrdiff_t(item.firstWord);
  return item == other.items[number] &&
         std::equal(begin, begin + ptrdiff_t(item.words),
                    other.words.begin() + ptrdiff_t(item.firstWord));
}

Outcome WorkList::queue(Gpu &gpu, CUstream stream) {
  for (size_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    void *parameters[] = {wordsOf(i)};
    ++gpu.launches;
    if (Outcome outcome = outcomeOf(
            api().cuLaunchKernel(item.function, item.blocks, 1, 1, item.threads,
                                 1, 1, 0, stream, parameters, nullptr),
            "launch a kernel"))
      return outcome;
  }
  return std::nullopt;
}

} // namespace ltc::cuda
