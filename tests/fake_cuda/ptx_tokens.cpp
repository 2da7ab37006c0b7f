//===- ptx_tokens.cpp - PTX as words --------------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx_tokens.h"

#include <cctype>
#include <charconv>
#include <cstdlib>

namespace fake_cuda {

namespace {

bool isWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '%' || c == '$';
}

std::optional<int64_t> integerOf(std::string_view word) {
  if (word.ends_with('U'))
    word.remove_suffix(1);
  if (word.empty() ||
      !(std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '-'))
    return std::nullopt;
  std::string text(word);
  char *end = nullptr;
  int64_t value = word[0] == '-'
                      ? std::strtoll(text.c_str(), &end, 0)
                      : int64_t(std::strtoull(text.c_str(), &end, 0));
  return *end ? std::nullopt : std::optional(value);
}

} // namespace

void fail(std::string why) { throw Failed{std::move(why)}; }

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
      ++i;
      continue;
    }
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    size_t begin = i++;
    bool isNumber = c == '-' && i < text.size() &&
                    std::isdigit(static_cast<unsigned char>(text[i]));
    if (c == '"')
      i = std::min(text.find('"', i), text.size() - 1) + 1;
    else if (isWordPart(c) || isNumber)
      while (i < text.size() && isWordPart(text[i]))
        ++i;
    tokens.push_back(text.substr(begin, i - begin));
  }
  return tokens;
}

std::optional<uint64_t> bitsOf(std::string_view word) {
  if (word.starts_with("0f") || word.starts_with("0d") ||
      word.starts_with("0F") || word.starts_with("0D")) {
    uint64_t bits = 0;
    auto [end, failure] =
        std::from_chars(word.data() + 2, word.data() + word.size(), bits, 16);
    if (failure == std::errc() && end == word.data() + word.size())
      return bits;
  }
  auto integer = integerOf(word);
  return integer ? std::optional(uint64_t(*integer)) : std::nullopt;
}

size_t bytesOf(std::string_view type) {
  size_t digits = type.find_first_of("0123456789");
  auto bits =
      digits == type.npos ? std::nullopt : integerOf(type.substr(digits));
  if (!bits || *bits % 8)
    fail("there is no type " + std::string(type));
  return size_t(*bits) / 8;
}

} // namespace fake_cuda
