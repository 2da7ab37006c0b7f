//===- family.cpp - What is known of graphs of one structure --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dynamic/family.h"

namespace ltc::runtime {

/// What a family takes besides.
static constexpr size_t kIntegersEach = 256;

size_t Family::integers() const {
  size_t sum = 0;
  for (const Trace &trace : traces)
    sum += trace.size();
  for (const Version &version : versions)
    sum += version.fit.formulaAt.size();
  for (const Fit &fit : refused)
    sum += fit.formulaAt.size();
  return sum;
}

std::shared_ptr<Family> Families::of(Hash128 key) {
  std::lock_guard lock(mutex);
  if (auto found = index.find(key); found != index.end()) {
    entries.splice(entries.begin(), entries, found->second);
    return found->second->family;
  }
  entries.push_front({key, std::make_shared<Family>(), kIntegersEach});
  index[key] = entries.begin();
  total += kIntegersEach;
  makeRoom();
  return entries.front().family;
}

void Families::measured(Hash128 key, const Family &family) {
  std::lock_guard lock(mutex);
  auto found = index.find(key);
  // Forgotten meanwhile, and perhaps another of that key is there.
  if (found == index.end() || found->second->family.get() != &family)
    return;
  size_t integers = family.integers() + kIntegersEach;
  total += integers - found->second->integers;
  found->second->integers = integers;
  makeRoom();
}

void Families::makeRoom() {
  while (total > kMaxIntegers && entries.size() > 1) {
    total -= entries.back().integers;
    index.erase(entries.back().key);
    entries.pop_back();
  }
}

void Families::clear() {
  std::lock_guard lock(mutex);
  entries.clear();
  index.clear();
  total = 0;
}

} // namespace ltc::runtime
