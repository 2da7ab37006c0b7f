//===- memory.h - Executables by key, the least recently used go first ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>

namespace ltc::runtime {

/// Any thread.
class MemoryCache {
public:
  using Make = std::function<Result<ExecutablePtr>()>;

  /// The executable of that key, or null. Makes it the most recently used.
  ExecutablePtr find(Hash128 key);
  /// The same, or what `make` gives, which runs without a lock and once however
  /// many threads ask: the others wait for it and share its result. A failure
  /// or null is handed to those who waited, and not remembered. `hit` tells
  /// whether this call ran `make`.
  Result<ExecutablePtr> findOrMake(Hash128 key, size_t capacity,
                                   const Make &make, bool &hit);
  /// Puts a better executable in the place of the one of that key; nothing if
  /// it is gone. What the new one took over is still held, and so counts too.
  void improve(Hash128 key, ExecutablePtr executable, size_t capacity);
  /// Lets go of the half that was not used for longest.
  void halve();
  void clear();
  size_t bytes() const;

private:
  struct Entry {
    Hash128 key;
    ExecutablePtr executable;
    size_t bytes;
  };
  /// A make() in progress.
  struct Flight {
    std::condition_variable landed;
    std::optional<Result<ExecutablePtr>> result;
  };

  ExecutablePtr touch(Hash128 key);
  void insert(Hash128 key, ExecutablePtr executable);
  /// Hands what fell out to the caller, to be destroyed without the lock.
  std::list<Entry> makeRoom(size_t capacity);

  mutable std::mutex mutex;
  std::list<Entry> entries; ///< most recently used first
  std::unordered_map<Hash128, std::list<Entry>::iterator> index;
  std::unordered_map<Hash128, std::shared_ptr<Flight>> flights;
  size_t total = 0;
};

} // namespace ltc::runtime
