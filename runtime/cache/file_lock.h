//===- file_lock.h - A lock that a killed holder releases -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/hash.h"
#include "ltc/types.h"

#include <chrono>

namespace ltc::runtime {

/// A lock on one byte of a file, for all processes and threads that open it,
/// also over NFS. The kernel releases it when the holder dies; the file is
/// never written nor removed.
class FileLock {
public:
  FileLock() = default;
  ~FileLock() { release(); }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

  /// Unavailable: the file or its file system allows no locks; errno says why.
  enum class Outcome { Locked, LockedAfterWaiting, TimedOut, Unavailable };
  /// Locks the byte that stands for `key`, once.
  Outcome acquire(const std::string &path, Hash128 key,
                  std::chrono::milliseconds limit);
  void release();

private:
  int fd = -1;
  int64_t byte = 0;
};

} // namespace ltc::runtime
