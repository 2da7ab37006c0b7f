//===- directory.cpp - The cache's directory: list, check, prune ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/entry_file.h"
#include "cache/key.h"
#include "cache/trust.h"
#include "ltc/settings.h"

#include <algorithm>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace ltc {

using namespace runtime;

namespace {

Error refused(ErrorCode code, std::string message) {
  return {code, Stage::Cache, std::move(message), "", {}, ""};
}

std::optional<Hash128> parseKey(std::string_view text) {
  if (text.size() != 32)
    return std::nullopt;
  Hash128 key;
  for (char c : text) {
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
    if (digit < 0)
      return std::nullopt;
    key.high = key.high << 4 | key.low >> 60;
    key.low = key.low << 4 | uint64_t(digit);
  }
  return key;
}

/// The key that an artifact's content gives.
Result<Hash128> keyOf(const Artifact &artifact) {
  Result<Graph> graph = Graph::parse(artifact.graphText);
  if (!graph)
    return graph.takeError();
  return diskKey(entryHash(*graph), artifact.target, artifact.compiler);
}

/// What a directory holds.
struct Listing {
  std::vector<cache::File> entries;   ///< least recently used first
  std::vector<std::string> abandoned; ///< paths of old temporary files
};

/// A writer takes a second; this old, it was killed.
constexpr double abandonedAfter = 3600;

double seconds(const timespec &time) {
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

Listing scan(const std::string &directory) {
  Listing found;
  std::unique_ptr<DIR, int (*)(DIR *)> open(opendir(directory.c_str()),
                                            closedir);
  if (!open)
    return found;
  double now = double(std::time(nullptr));
  while (const dirent *item = readdir(open.get())) {
    std::string_view name(item->d_name);
    bool temporary = name.starts_with(kTemporaryPrefix);
    bool entry = name.ends_with(kEntrySuffix) &&
                 parseKey(name.substr(0, name.size() - kEntrySuffix.size()));
    struct stat status;
    if (!(temporary || entry) || fstatat(dirfd(open.get()), item->d_name,
                                         &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    double used = seconds(status.st_mtim);
    if (entry)
      found.entries.push_back(
          {std::string(name.substr(0, 32)), uint64_t(status.st_size), used});
    else if (now - used > abandonedAfter)
      found.abandoned.push_back(directory + "/" + std::string(name));
  }
  std::sort(found.entries.begin(), found.entries.end(),
            [](const cache::File &a, const cache::File &b) {
              return std::tie(a.lastUse, a.key) < std::tie(b.lastUse, b.key);
            });
  return found;
}

} // namespace

std::string cache::directory() {
  if (!settings().cache_dir.empty())
    return settings().cache_dir;
  const char *folder = std::getenv("XDG_CACHE_HOME");
  // The standard has relative paths ignored.
  if (folder && *folder == '/')
    return std::string(folder) + "/torch_ltc";
  std::string home = homeDirectory();
  return home.empty() ? "" : home + "/.cache/torch_ltc";
}

std::vector<cache::File> cache::list(const std::string &directory) {
  return scan(directory).entries;
}

Result<Artifact> cache::read(const std::string &directory,
                             const std::string &key) {
  std::optional<Hash128> wanted = parseKey(key);
  if (!wanted)
    return refused(ErrorCode::InvalidArgument, "'" + key + "' is no key");
  std::string bytes;
  FileResult file =
      readEntry(directory, entryPath(directory, *wanted), false, bytes);
  if (file.kind == FileResult::Missing)
    return refused(ErrorCode::InvalidArgument,
                   "there is no entry " + key + " in " + directory);
  if (file.kind == FileResult::Untrusted)
    return refused(ErrorCode::InvalidArgument,
                   "entry " + key + " is not used: " + file.why);
  if (file.kind != FileResult::Done)
    return refused(ErrorCode::InvalidArgument,
                   "entry " + key + " is bad: " + file.why);
  Result<Artifact> artifact = Artifact::deserialize(bytes);
  if (!artifact)
    return artifact;
  Result<Hash128> found = keyOf(*artifact);
  if (!found)
    return found.takeError();
  if (*found != *wanted)
    return refused(ErrorCode::InvalidArgument,
                   "entry " + key + " is bad: its content belongs under " +
                       found->str());
  return artifact;
}

Result<std::string> cache::add(const std::string &directory,
                               std::string_view bytes) {
  Result<Artifact> artifact = Artifact::deserialize(bytes);
  if (!artifact)
    return artifact.takeError();
  Result<Hash128> key = keyOf(*artifact);
  if (!key)
    return key.takeError();
  if (read(directory, key->str()))
    return key->str(); // it is there, and may be in use
  FileResult written = writeEntry(directory, entryPath(directory, *key), bytes);
  if (written.kind != FileResult::Done)
    return refused(ErrorCode::DeviceFailed, "cannot write to the cache in " +
                                                directory + ": " + written.why);
  return key->str();
}

bool cache::remove(const std::string &directory, const std::string &key) {
  std::optional<Hash128> wanted = parseKey(key);
  return wanted && removeEntry(entryPath(directory, *wanted));
}

std::vector<cache::File> cache::prune(const std::string &directory,
                                      uint64_t bytes) {
  Listing found = scan(directory);
  for (const std::string &path : found.abandoned)
    ::unlink(path.c_str());
  uint64_t total = 0;
  for (const File &file : found.entries)
    total += file.bytes;
  std::vector<File> removed;
  for (const File &file : found.entries) {
    if (total <= bytes)
      break;
    if (!remove(directory, file.key))
      continue;
    total -= file.bytes;
    removed.push_back(file);
  }
  return removed;
}

} // namespace ltc
