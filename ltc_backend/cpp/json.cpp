//===- cpp/json.cpp - Text in JSON ----------------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/json.h"

#include <charconv>
#include <cstdio>
#include <iterator>

namespace ltc::backend {

Json::Json(double value) {
  char digits[32]; // with a point in every locale
  text.assign(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

Json::Json(std::string_view value) : text("\"") {
  for (char c : value) {
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\u%04x", unsigned(c));
      text += escaped;
    } else {
      text += c;
    }
  }
  text += '"';
}

} // namespace ltc::backend
