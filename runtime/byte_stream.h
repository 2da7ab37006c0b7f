//===- byte_stream.h - Plain data as bytes, and back ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two classes with one interface, so that one function describes a struct for
// both. Numbers are little-endian and have 8 bytes; a text is its length and
// bytes; a list its length and elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ltc::runtime {

class ByteWriter {
public:
  template <typename T> void word(T value) {
    auto bits = uint64_t(value);
    bytes.append(reinterpret_cast<const char *>(&bits), sizeof(bits));
  }
  void flag(bool value) { word(value); }
  void text(const std::string &text) {
    word(text.size());
    bytes += text;
  }
  template <typename T, typename Visit>
  void list(std::vector<T> &list, Visit visit) {
    word(list.size());
    for (T &one : list)
      visit(one);
  }
  void require(bool) {}

  std::string bytes;
};

/// Of any bytes: once something is not as it must be, all that follows is
/// empty, and isAtEnd() false. No length is believed that is more than is left.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : left(bytes) {}

  template <typename T> void word(T &value) {
    uint64_t bits = 0;
    if (require(left.size() >= sizeof(bits))) {
      std::memcpy(&bits, left.data(), sizeof(bits));
      left.remove_prefix(sizeof(bits));
    }
    value = T(bits);
    require(uint64_t(value) == bits);
  }
  void flag(bool &value) {
    uint64_t bits;
    word(bits);
    require(bits <= 1);
    value = bits == 1;
  }
  void text(std::string &text) {
    uint64_t size;
    word(size);
    if (require(size <= left.size())) {
      text = left.substr(0, size);
      left.remove_prefix(size);
    }
  }
  template <typename T, typename Visit>
  void list(std::vector<T> &list, Visit visit) {
    uint64_t size;
    word(size);
    // An element takes a word at least.
    if (!require(size <= left.size() / sizeof(uint64_t)))
      return;
    list.clear();
    for (uint64_t i = 0; i < size && isGood; ++i)
      visit(list.emplace_back());
  }
  bool require(bool holds) {
    isGood &= holds;
    if (!isGood)
      left = {};
    return isGood;
  }
  bool isAtEnd() const { return isGood && left.empty(); }

private:
  std::string_view left;
  bool isGood = true;
};

} // namespace ltc::runtime
