//===- optimizations.h - What a compile can leave out -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

namespace ltc {

/// Which optimizations a compile makes: all, unless told otherwise.
struct Optimizations {
#define LTC_OPTIMIZATION(name, doc) bool name = true;
#include "ltc/optimizations.def"
#undef LTC_OPTIMIZATION

  /// All but those named, with commas between; a name that is none is an
  /// InvalidArgument error that lists them.
  LTC_API static Result<Optimizations> without(std::string_view names);
  /// None of them: the library is called for one op after the other.
  static Optimizations none();
};

} // namespace ltc
