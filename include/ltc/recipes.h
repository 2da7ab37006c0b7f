//===- recipes.h - Numbers that a user tunes kernels by ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

#include <string>
#include <vector>

namespace ltc {

/// Files <kind>.recipe and <kind>.<cpu>.recipe, as docs/recipes.md says. They
/// are read here as text; the compiler knows what may be in them.
struct Recipes {
  struct File {
    std::string name; ///< without its directory
    std::string text;
  };
  std::string directory;
  std::vector<File> files; ///< by name

  /// All of a directory's; an InvalidArgument error if it cannot be read. None
  /// if `directory` is empty.
  LTC_API static Result<Recipes> read(const std::string &directory);

  /// What stands for them in the name of a compiler: "" if there are none.
  LTC_API std::string key() const;
};

} // namespace ltc
