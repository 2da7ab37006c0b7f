//===- family.cpp - What is known of graphs of one structure --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/family.h"

namespace ltc::runtime {

std::shared_ptr<Family> Families::of(Hash128 key, size_t integers) {
  std::lock_guard lock(mutex);
  if (auto found = index.find(key); found != index.end()) {
    entries.splice(entries.begin(), entries, found->second);
    return found->second->family;
  }
  integers += 256; // what a family takes besides
  entries.push_front({key, std::make_shared<Family>(), integers});
  index[key] = entries.begin();
  total += integers;
  while (total > kMaxIntegers && entries.size() > 1) {
    total -= entries.back().integers;
    index.erase(entries.back().key);
    entries.pop_back();
  }
  return entries.front().family;
}

void Families::clear() {
  std::lock_guard lock(mutex);
  entries.clear();
  index.clear();
  total = 0;
}

} // namespace ltc::runtime
