//===- work_list.cpp - What some steps have a GPU do ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "work_list.h"

#include <algorithm>

namespace ltc::cuda {

namespace {

bool isOverlap(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return to < from + bytes && from < to + bytes;
}

} // namespace

void WorkList::clear() {
  items.clear();
  words.clear();
  hasOverlap = false;
}

void WorkList::addLaunch(CUfunction function, unsigned blocks, unsigned threads,
                         std::span<const int64_t> arguments) {
  items.push_back({function, blocks, threads, words.size(), arguments.size()});
  words.insert(words.end(), arguments.begin(), arguments.end());
}

void WorkList::addCopy(int64_t to, int64_t from, int64_t bytes) {
  if (bytes == 0 || to == from)
    return;
  hasOverlap |= isOverlap(CUdeviceptr(to), CUdeviceptr(from), size_t(bytes));
  items.push_back({nullptr, 0, 0, words.size(), 3});
  words.insert(words.end(), {to, from, bytes});
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
    Outcome outcome;
    if (item.function) {
      void *parameters[] = {wordsOf(i)};
      ++gpu.launches;
      outcome = outcomeOf(api().cuLaunchKernel(item.function, item.blocks, 1, 1,
                                               item.threads, 1, 1, 0, stream,
                                               parameters, nullptr),
                          "launch a kernel");
    } else {
      outcome = queueCopy(stream, {wordsOf(i), item.words});
    }
    if (outcome)
      return outcome;
  }
  return std::nullopt;
}

Outcome WorkList::queueCopy(CUstream stream,
                            std::span<const int64_t> copy) const {
  auto to = CUdeviceptr(copy[0]), from = CUdeviceptr(copy[1]);
  auto bytes = size_t(copy[2]);
  if (!isOverlap(to, from, bytes))
    return outcomeOf(api().cuMemcpyDtoDAsync(to, from, bytes, stream),
                     "copy memory");
  CUdeviceptr between = 0;
  CUresult result = api().cuMemAllocAsync(&between, bytes, stream);
  if (result == CUDA_SUCCESS)
    result = api().cuMemcpyDtoDAsync(between, from, bytes, stream);
  if (result == CUDA_SUCCESS)
    result = api().cuMemcpyDtoDAsync(to, between, bytes, stream);
  if (between)
    api().cuMemFreeAsync(between, stream);
  return outcomeOf(result, "copy memory");
}

} // namespace ltc::cuda
