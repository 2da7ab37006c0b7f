//===- cache.h - The cache on disk, as tools see it -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One directory, one file a compiled graph: `<key>.ltc` is what
// Artifact::serialize() made, and the key follows from its content. Files
// appear and vanish whole, so that any number of processes may use, list and
// prune a directory at the same time. Any thread; nothing is kept open.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"

namespace ltc::cache {

/// Setting cache_dir, or torch_ltc in the user's cache directory. Empty when
/// there is none: no setting and no home.
LTC_API std::string directory();

struct File {
  std::string key; ///< 32 hexadecimal digits
  uint64_t bytes = 0;
  double lastUse = 0; ///< seconds since 1970
};
/// Every file with an entry's name, the least recently used first; whether it
/// is a good entry is for read() to say. Empty if the directory cannot be read.
LTC_API std::vector<File> list(const std::string &directory);

/// The entry of that key with all of it checked: that nobody may write to it
/// who is not trusted, checksum, format, and that its content belongs under
/// this key. A missing file is an error, too.
LTC_API Result<Artifact> read(const std::string &directory,
                              const std::string &key);

/// Adds an entry, atomically, unless a good one is there, and returns its key.
/// InvalidArgument if the bytes are none; DeviceFailed if they cannot be
/// written, or the directory is not to be trusted.
LTC_API Result<std::string> add(const std::string &directory,
                                std::string_view bytes);

/// Removes one entry, or what stands in its place. False if it could not.
LTC_API bool remove(const std::string &directory, const std::string &key);

/// Removes the least recently used entries until the rest takes at most that
/// many bytes, and what killed writers left behind. Returns the removed.
LTC_API std::vector<File> prune(const std::string &directory, uint64_t bytes);

} // namespace ltc::cache
