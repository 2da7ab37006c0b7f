//===- ptx_tokens.h - PTX as words ------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fake_cuda {

/// Thrown where the text is wrong, and caught by parse().
struct Failed {
  std::string why;
};
[[noreturn]] void fail(std::string why);

/// Words, strings and single characters; comments are left out.
std::vector<std::string_view> split(std::string_view text);
/// The bits of a number: an integer, 0f and 8 digits, or 0d and 16.
std::optional<uint64_t> bitsOf(std::string_view word);
/// Of a type such as .b32 or .s8.
size_t bytesOf(std::string_view type);

struct Variable {
  size_t alignment = 1, bytes = 0;
  std::string_view name;
};

struct Tokens {
  std::vector<std::string_view> all;
  size_t next = 0;

  bool atEnd() const { return next >= all.size(); }
  std::string_view peek() const { return atEnd() ? "" : all[next]; }
  std::string_view take() {
    if (atEnd())
      fail("the text ends too early");
    return all[next++];
  }
  bool takeIf(std::string_view word) {
    if (peek() != word)
      return false;
    ++next;
    return true;
  }
  void expect(std::string_view word) {
    if (std::string_view found = take(); found != word)
      fail("there is " + std::string(found) + " instead of " +
           std::string(word));
  }
  void skipTo(std::string_view word) {
    while (take() != word)
      ;
  }
  int64_t takeInteger() {
    std::string_view word = take();
    auto value = bitsOf(word);
    if (!value)
      fail(std::string(word) + " is no number");
    return int64_t(*value);
  }

  /// `.align 8 .b8 name[32]`, behind the space that it lies in.
  Variable takeVariable() {
    Variable variable;
    if (takeIf(".align"))
      variable.alignment = size_t(takeInteger());
    variable.bytes = bytesOf(take());
    variable.alignment = std::max(variable.alignment, variable.bytes);
    variable.name = take();
    if (takeIf("[")) {
      variable.bytes *= size_t(takeInteger());
      expect("]");
    }
    return variable;
  }
};

} // namespace fake_cuda
