//===- source.h - The user's own lines --------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

namespace ltc {

/// A place in the user's program.
struct Source {
  std::string file;
  uint32_t line = 0;
  std::string function;

  bool empty() const { return file.empty(); }
  /// "train.py:41 in Masker.forward", or "" when unknown.
  LTC_API std::string str() const;
  bool operator==(const Source &) const = default;
};

/// Names a Source in the process-wide table; 0 is the unknown place.
using SourceId = uint32_t;

/// Interns `source`; equal places get equal ids. Any thread.
LTC_API SourceId internSource(const Source &source);
/// The place behind an id. Any thread.
LTC_API Source sourceOf(SourceId id);

} // namespace ltc
