//===- memory.cpp - Executables by key --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/memory.h"

namespace ltc::runtime {

/// What an executable holds on to, roughly: its code twice (as bytes, and
/// linked), its steps likewise, and the text of its graph.
static size_t bytesOf(const Executable &executable) {
  const Artifact &artifact = executable.artifact();
  return 2 * (artifact.codeBytes() + artifact.steps.size() * sizeof(ltc_step) +
              artifact.words.size() * sizeof(ltc_word)) +
         artifact.graphText.size() + 4096;
}

ExecutablePtr MemoryCache::touch(Hash128 key) {
  auto found = index.find(key);
  if (found == index.end())
    return nullptr;
  entries.splice(entries.begin(), entries, found->second);
  return found->second->executable;
}

ExecutablePtr MemoryCache::find(Hash128 key) {
  std::lock_guard lock(mutex);
  return touch(key);
}

Result<ExecutablePtr> MemoryCache::findOrMake(Hash128 key, size_t capacity,
                                              const Make &make, bool &hit) {
  std::unique_lock lock(mutex);
  hit = true;
  if (ExecutablePtr executable = touch(key))
    return executable;
  if (auto found = flights.find(key); found != flights.end()) {
    std::shared_ptr<Flight> flight = found->second;
    flight->landed.wait(lock, [&] { return flight->result.has_value(); });
    return *flight->result;
  }
  hit = false;
  auto flight = std::make_shared<Flight>();
  flights.emplace(key, flight);
  lock.unlock();
  Result<ExecutablePtr> result = make();
  lock.lock();
  flights.erase(key);
  flight->result = result;
  std::list<Entry> evicted;
  if (result && *result) {
    insert(key, *result);
    evicted = makeRoom(capacity);
  }
  lock.unlock();
  flight->landed.notify_all();
  return result;
}

void MemoryCache::insert(Hash128 key, ExecutablePtr executable) {
  size_t bytes = bytesOf(*executable);
  entries.push_front({key, std::move(executable), bytes});
  index[key] = entries.begin();
  total += bytes;
}

std::list<MemoryCache::Entry> MemoryCache::makeRoom(size_t capacity) {
  std::list<Entry> evicted;
  // The newest stays whatever its size, or a loop would compile every step.
  while (total > capacity && entries.size() > 1) {
    auto oldest = std::prev(entries.end());
    total -= oldest->bytes;
    index.erase(oldest->key);
    evicted.splice(evicted.end(), entries, oldest);
  }
  return evicted;
}

void MemoryCache::improve(Hash128 key, ExecutablePtr executable,
                          size_t capacity) {
  std::list<Entry> evicted;
  std::lock_guard lock(mutex);
  auto found = index.find(key);
  if (found == index.end())
    return;
  Entry &entry = *found->second;
  size_t bytes = bytesOf(*executable);
  entry.bytes += bytes;
  total += bytes;
  std::swap(entry.executable, executable);
  evicted = makeRoom(capacity);
}

void MemoryCache::halve() {
  std::list<Entry> evicted;
  std::lock_guard lock(mutex);
  evicted = makeRoom(total / 2);
}

void MemoryCache::clear() {
  std::list<Entry> dropped;
  std::lock_guard lock(mutex);
  dropped.swap(entries);
  index.clear();
  total = 0;
}

size_t MemoryCache::bytes() const {
  std::lock_guard lock(mutex);
  return total;
}

} // namespace ltc::runtime
