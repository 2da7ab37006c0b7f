//===- entry_file.cpp - Files of the cache on disk --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/entry_file.h"

#include "cache/trust.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace ltc::runtime {

namespace fs = std::filesystem;

namespace {

class OpenFile {
public:
  explicit OpenFile(int fd) : fd(fd) {}
  ~OpenFile() {
    if (fd >= 0)
      ::close(fd);
  }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;
  explicit operator bool() const { return fd >= 0; }
  operator int() const { return fd; }
  /// A full disk may be told of as late as this.
  bool close() { return ::close(std::exchange(fd, -1)) == 0; }

private:
  int fd;
};

FileResult failed(std::string_view doing) {
  return {FileResult::Failed, std::string(doing) + ": " + std::strerror(errno)};
}

/// Up to bytes.size(); the number read, or -1.
ssize_t readAll(int fd, std::string &bytes, size_t offset) {
  while (offset < bytes.size()) {
    ssize_t got = ::read(fd, bytes.data() + offset, bytes.size() - offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    offset += size_t(got);
  }
  return ssize_t(offset);
}

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    bytes.remove_prefix(size_t(put));
  }
  return true;
}

std::string temporaryPath(const std::string &directory) {
  std::random_device random;
  Hash128 name{uint64_t(random()) << 32 | random(),
               uint64_t(random()) << 32 | random()};
  return directory + "/" + std::string(kTemporaryPrefix) + name.str();
}

/// Writes and syncs; the file is complete on disk before it gets its name.
FileResult fill(const std::string &path, std::string_view bytes) {
  OpenFile file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       isCacheShared() ? 0664 : 0600));
  if (!file)
    return failed("open");
  if (!writeAll(file, bytes))
    return failed("write");
  if (::fsync(file) != 0)
    return failed("fsync");
  if (!file.close())
    return failed("close");
  return {};
}

FileResult rename(const std::string &from, const std::string &to) {
  if (::rename(from.c_str(), to.c_str()) == 0)
    return {};
  // A directory in its place: nothing of ours, and ours to replace.
  if ((errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST) &&
      removeEntry(to) && ::rename(from.c_str(), to.c_str()) == 0)
    return {};
  return failed("rename");
}

} // namespace

void ensureDirectory(const std::string &directory) {
  mode_t mode = isCacheShared() ? 0775 : 0700;
  if (::mkdir(directory.c_str(), mode) == 0 || errno != ENOENT)
    return;
  fs::path above = fs::path(directory).parent_path();
  if (above.empty() || above == directory)
    return;
  ensureDirectory(above);
  ::mkdir(directory.c_str(), mode);
}

std::string entryPath(const std::string &directory, Hash128 key) {
  return directory + "/" + key.str() + std::string(kEntrySuffix);
}

FileResult readEntry(const std::string &directory, const std::string &path,
                     bool noteUse, std::string &bytes) {
  if (std::string why = whyDirectoryNotTrusted(directory); !why.empty())
    return {FileResult::Untrusted, why};
  // Not blocking: it may be a pipe.
  OpenFile file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file && errno == ELOOP)
    return {FileResult::Bad, "it is a symbolic link"};
  if (!file)
    return errno == ENOENT ? FileResult{FileResult::Missing, ""}
                           : failed("open");
  struct stat status;
  if (::fstat(file, &status) != 0)
    return failed("stat");
  if (!S_ISREG(status.st_mode))
    return {FileResult::Bad, "it is no file"};
  if (std::string why = whyNotTrusted(path, status); !why.empty())
    return {FileResult::Untrusted, why};
  // The header first: its length bounds what is allocated.
  bytes.assign(Artifact::headerBytes, '\0');
  ssize_t got = readAll(file, bytes, 0);
  if (got < 0)
    return failed("read");
  bytes.resize(size_t(got));
  Result<size_t> size = Artifact::sizeBehind(bytes);
  if (!size)
    return {FileResult::Bad, size.error().message};
  if (*size != size_t(status.st_size))
    return {FileResult::Bad, "its length is wrong"};
  bytes.resize(*size);
  got = readAll(file, bytes, Artifact::headerBytes);
  if (got < 0)
    return failed("read");
  if (size_t(got) != *size)
    return {FileResult::Bad, "its length is wrong"};
  if (noteUse)
    (void)::futimens(file, nullptr);
  return {};
}

FileResult writeEntry(const std::string &directory, const std::string &path,
                      std::string_view bytes) {
  ensureDirectory(directory);
  if (std::string why = whyDirectoryNotTrusted(directory); !why.empty())
    return {FileResult::Untrusted, why};
  std::string temporary = temporaryPath(directory);
  FileResult result = fill(temporary, bytes);
  if (result.kind == FileResult::Done)
    result = rename(temporary, path);
  if (result.kind != FileResult::Done)
    ::unlink(temporary.c_str());
  return result;
}

bool removeEntry(const std::string &path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT)
    return true;
  if (errno != EISDIR && errno != EPERM)
    return false;
  std::error_code failure;
  fs::remove_all(path, failure);
  return !failure;
}

} // namespace ltc::runtime
