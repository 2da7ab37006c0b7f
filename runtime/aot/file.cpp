//===- file.cpp - A bundle's bytes ------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "aot/file.h"

#include "cache/trust.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ltc::aot {

namespace {

Error failed(const std::string &path, const std::string &why) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          "cannot open " + path + ": " + why,
          "",
          {},
          ""};
}

struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  const int number;
};

} // namespace

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<char *>(data), size);
}

Status MappedFile::open(const std::string &path) {
  // Not blocking: it may be a pipe.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (file.number < 0 || fstat(file.number, &status) != 0)
    return failed(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return failed(path, "it is no plain file");
  if (std::string why = runtime::whyNotTrusted(path, status); !why.empty())
    return failed(path, "it holds machine code, and " + why);
  if (status.st_size == 0)
    return {};
  void *mapped = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE,
                      file.number, /*offset=*/0);
  if (mapped == MAP_FAILED)
    return failed(path, std::strerror(errno));
  data = static_cast<const char *>(mapped);
  size = size_t(status.st_size);
  return {};
}

} // namespace ltc::aot
