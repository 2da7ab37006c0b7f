//===- file_lock.cpp - A lock that a killed holder releases -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/file_lock.h"

#include "cache/trust.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace ltc::runtime {

/// One lock of an open file, not of a process: threads exclude each other too.
static int setLock(int fd, short type, int64_t byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int status;
  do
    status = fcntl(fd, F_OFD_SETLK, &lock);
  while (status != 0 && errno == EINTR);
  return status;
}

FileLock::Outcome FileLock::acquire(const std::string &path, Hash128 key,
                                    std::chrono::milliseconds limit) {
  using namespace std::chrono;
  fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return Outcome::Unavailable;
  if (isCacheShared()) // it holds nothing, and others have to lock it, too
    (void)fchmod(fd, 0660);
  byte = int64_t(key.low >> 2);
  auto end = steady_clock::now() + limit;
  milliseconds pause(1);
  for (bool waited = false;; waited = true) {
    if (setLock(fd, F_WRLCK, byte) == 0)
      return waited ? Outcome::LockedAfterWaiting : Outcome::Locked;
    bool held = errno == EAGAIN || errno == EACCES;
    if (held && steady_clock::now() < end) {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, milliseconds(20));
      continue;
    }
    int why = errno;
    close(std::exchange(fd, -1));
    errno = why;
    return held ? Outcome::TimedOut : Outcome::Unavailable;
  }
}

void FileLock::release() {
  if (fd < 0)
    return;
  // Explicitly: a process forked meanwhile shares the open file.
  setLock(fd, F_UNLCK, byte);
  close(std::exchange(fd, -1));
}

} // namespace ltc::runtime
