//===- optimizations.cpp - What a compile can leave out -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/optimizations.h"

namespace ltc {

static constexpr std::string_view kNames = ""
#define LTC_OPTIMIZATION(name, doc) " " #name
#include "ltc/optimizations.def"
#undef LTC_OPTIMIZATION
    ;

static bool *find(Optimizations &all, std::string_view wanted) {
#define LTC_OPTIMIZATION(name, doc)                                            \
  if (wanted == #name)                                                         \
    return &all.name;
#include "ltc/optimizations.def"
#undef LTC_OPTIMIZATION
  return nullptr;
}

Result<Optimizations> Optimizations::without(std::string_view names) {
  Optimizations all;
  while (!names.empty()) {
    size_t end = std::min(names.find(','), names.size());
    std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    bool *one = find(all, name);
    if (!one)
      return Error{ErrorCode::InvalidArgument,
                   Stage::Optimize,
                   "'" + std::string(name) + "' is no optimization",
                   "",
                   {},
                   "the optimizations are" + std::string(kNames)};
    *one = false;
  }
  return all;
}

Optimizations Optimizations::none() {
  Optimizations all;
#define LTC_OPTIMIZATION(name, doc) all.name = false;
#include "ltc/optimizations.def"
#undef LTC_OPTIMIZATION
  return all;
}

} // namespace ltc
