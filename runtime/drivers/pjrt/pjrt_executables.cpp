//===- pjrt_executables.cpp - The code that a device has loaded ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_executables.h"

#include <algorithm>

namespace ltc::pjrt {

void Executables::makeRoom() {
  while (kept.size() >= most && !kept.empty()) {
    kept.erase(std::ranges::min_element(
        kept, {}, [](const auto &one) { return one.second->lastUse(); }));
    ++evicted;
  }
}

Outcome Executables::load(std::string_view module, ExecutablePtr &made) {
  std::string key(module);
  std::unique_lock lock(mutex);
  if (auto known = kept.find(key); known != kept.end()) {
    made = known->second;
    return std::nullopt;
  }
  // Others launch what they have in the meantime.
  lock.unlock();
  if (Outcome outcome = device.client->compile(device.index, module, made))
    return outcome;
  ++compiled;
  lock.lock();
  makeRoom();
  kept.insert_or_assign(std::move(key), made);
  return std::nullopt;
}

Outcome Executables::load(Code &code, ExecutablePtr &made) {
  {
    std::lock_guard lock(mutex);
    made = code.loaded.lock();
    if (made)
      return std::nullopt;
  }
  if (Outcome outcome = load(code.module, made))
    return outcome;
  std::lock_guard lock(mutex);
  code.loaded = made;
  return std::nullopt;
}

} // namespace ltc::pjrt
