//===- recipes.cpp - Numbers that a user tunes kernels by -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/recipes.h"

#include "ltc/hash.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ltc {

namespace fs = std::filesystem;

static Error unreadable(const std::string &path, const std::string &why) {
  return {ErrorCode::InvalidArgument,
          Stage::Optimize,
          "cannot read recipes from " + path + ": " + why,
          "",
          {},
          "the setting recipes names a directory of files such as cpu.recipe"};
}

Result<Recipes> Recipes::read(const std::string &directory) {
  Recipes recipes{directory, {}};
  if (directory.empty())
    return recipes;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  for (; !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    const fs::path &path = entries->path();
    if (path.extension() != ".recipe" || !entries->is_regular_file())
      continue;
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    if (!file)
      return unreadable(path, std::strerror(errno));
    recipes.files.push_back({path.filename(), text.str()});
  }
  if (error)
    return unreadable(directory, error.message());
  std::ranges::sort(recipes.files, {}, &File::name);
  return recipes;
}

std::string Recipes::key() const {
  if (files.empty())
    return "";
  Hasher hasher;
  for (const File &file : files)
    hasher.add(std::string_view(file.name)).add(std::string_view(file.text));
  return "+recipes-" + hasher.finish().str();
}

} // namespace ltc
