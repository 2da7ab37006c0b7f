//===- file.h - A bundle's bytes --------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

namespace ltc::aot {

/// A file as it lies in the system's cache, for reading.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  /// Refuses what is no plain file, and what others than the user, root and
  /// whom setting cache_trust names may write to.
  Status open(const std::string &path);
  std::string_view bytes() const { return {data, size}; }

private:
  const char *data = nullptr;
  size_t size = 0;
};

} // namespace ltc::aot
