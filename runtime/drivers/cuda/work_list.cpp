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

void WorkList::addCall(GpuCalls::Id call, bool writesDonated,
                       std::span<const int64_t> arguments) {
  items.push_back({.firstWord = words.size(),
                   .words = arguments.size(),
                   .call = call,
                   .writesDonated = writesDonated});
  words.insert(words.end(), arguments.begin(), arguments.end());
}

size_t WorkList::calls() const {
  return size_t(std::ranges::count_if(
      items, [](const Item &item) { return item.call.isCall(); }));
}

bool WorkList::isLike(const WorkList &other) const {
  return std::ranges::equal(
      items, other.items, [](const Item &one, const Item &two) {
        return one.function == two.function && one.threads == two.threads &&
               one.words == two.words && one.call.number == two.call.number;
      });
}

bool WorkList::isSame(size_t number, const WorkList &other) const {
  const Item &item = items[number];
  auto begin = words.begin() + ptrdiff_t(item.firstWord);
  return item == other.items[number] &&
         std::equal(begin, begin + ptrdiff_t(item.words),
                    other.words.begin() + ptrdiff_t(item.firstWord));
}

Outcome WorkList::queueLaunch(Gpu &gpu, CUstream stream, size_t number) {
  const Item &item = items[number];
  void *parameters[] = {wordsOf(number).data()};
  ++gpu.launches;
  return outcomeOf(api().cuLaunchKernel(item.function, item.blocks, 1, 1,
                                        item.threads, 1, 1, 0, stream,
                                        parameters, nullptr),
                   "launch a kernel");
}

Outcome WorkList::queue(Gpu &gpu, GpuCalls &calls, CUstream stream) {
  for (size_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    Outcome outcome =
        item.call.isCall()
            ? calls.queue(stream, item.call, item.writesDonated, wordsOf(i))
            : queueLaunch(gpu, stream, i);
    if (outcome)
      return outcome;
  }
  return std::nullopt;
}

} // namespace ltc::cuda
