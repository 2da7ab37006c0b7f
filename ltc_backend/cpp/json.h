//===- cpp/json.h - Text in JSON --------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace ltc::backend {

/// A value, written as text.
struct Json {
  std::string text;

  Json(bool value) : text(value ? "true" : "false") {}
  Json(std::integral auto value) : text(std::to_string(value)) {}
  Json(double value);
  Json(const char *value) : Json(std::string_view(value)) {}
  Json(const std::string &value) : Json(std::string_view(value)) {}
  Json(std::string_view value);
};

/// An object or a list, a member at a time.
class JsonBuilder {
public:
  static JsonBuilder object() { return {'{', '}'}; }
  static JsonBuilder list() { return {'[', ']'}; }

  JsonBuilder &add(std::string_view name, const Json &value) {
    return append(Json(name).text + ": " + value.text);
  }
  JsonBuilder &add(std::string_view name, const JsonBuilder &value) {
    return append(Json(name).text + ": " + value.str());
  }
  JsonBuilder &add(const Json &value) { return append(value.text); }
  JsonBuilder &add(const JsonBuilder &value) { return append(value.str()); }
  std::string str() const { return text + last; }

private:
  JsonBuilder(char first, char last) : text(1, first), last(last) {}
  JsonBuilder &append(const std::string &member) {
    if (text.size() > 1)
      text += ", ";
    text += member;
    return *this;
  }

  std::string text;
  char last;
};

} // namespace ltc::backend
