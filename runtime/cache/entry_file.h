//===- entry_file.h - Files of the cache on disk ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/cache.h"

namespace ltc::runtime {

constexpr std::string_view kEntrySuffix = ".ltc";
constexpr std::string_view kTemporaryPrefix = ".writing-";

/// What became of reading or writing a file.
struct FileResult {
  enum Kind {
    Done,
    Missing,  ///< there is no such file
    Bad,      ///< it is there and no entry
    Failed,   ///< the file system refuses
    Untrusted ///< others may write to it; see trust.h
  } kind = Done;
  std::string why; ///< of the last three
};

/// Makes the directory, for the user alone unless the cache is shared: what it
/// holds is run as code. Says nothing if it cannot; the first file in it will.
void ensureDirectory(const std::string &directory);

/// The path of an entry.
std::string entryPath(const std::string &directory, Hash128 key);

/// Reads a whole entry and notes that it was used. Only whom it belongs to is
/// checked, and its length against what its header says.
FileResult readEntry(const std::string &directory, const std::string &path,
                     bool noteUse, std::string &bytes);

/// Makes `bytes` appear under `path` whole, or not at all, in place of anything
/// that is there.
FileResult writeEntry(const std::string &directory, const std::string &path,
                      std::string_view bytes);

/// Removes an entry, or whatever stands in its place.
bool removeEntry(const std::string &path);

} // namespace ltc::runtime
