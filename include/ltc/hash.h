//===- hash.h - The stable 128-bit hash behind every key --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same bytes give the same hash in every process, on every machine and
// with every compiler (little-endian). Not cryptographic.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace ltc {

struct Hash128 {
  uint64_t low = 0, high = 0;

  auto operator<=>(const Hash128 &) const = default;
  /// 32 lower-case hexadecimal digits, high word first.
  std::string str() const {
    static const char *digits = "0123456789abcdef";
    std::string text(32, '0');
    for (int i = 0; i < 16; ++i) {
      text[15 - i] = digits[(high >> (4 * i)) & 15];
      text[31 - i] = digits[(low >> (4 * i)) & 15];
    }
    return text;
  }
};

/// Folds words into a Hash128: two independent multiply-and-fold lanes (the
/// 64x64->128 bit "mum" step of wyhash, Wang Yi 2019), 1–2 ns a word.
class Hasher {
public:
  Hasher() = default;
  explicit Hasher(Hash128 seed) : a(seed.low ^ kA), b(seed.high ^ kB) {}

  Hasher &add(uint64_t word) {
    a = mum(a ^ word, kC);
    b = mum(b ^ word ^ kD, kA ^ a);
    return *this;
  }
  Hasher &add(Hash128 hash) { return add(hash.low).add(hash.high); }
  Hasher &add(std::string_view bytes) {
    add(uint64_t(bytes.size()));
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
      uint64_t word;
      std::memcpy(&word, bytes.data(), 8);
      add(word);
    }
    uint64_t tail = 0;
    std::memcpy(&tail, bytes.data(), bytes.size());
    return add(tail);
  }
  Hash128 finish() const {
    return {mum(a ^ kB, b ^ kC), mum(b ^ kD, a ^ kB ^ kC)};
  }

private:
  static uint64_t mum(uint64_t x, uint64_t y) {
    auto product = static_cast<unsigned __int128>(x) * y;
    return uint64_t(product) ^ uint64_t(product >> 64) ^ x;
  }
  static constexpr uint64_t kA = 0xa0761d6478bd642fULL,
                            kB = 0xe7037ed1a0b428dbULL,
                            kC = 0x8ebc6af09c88c6e3ULL,
                            kD = 0x589965cc75374cc3ULL;
  uint64_t a = kA, b = kB;
};

} // namespace ltc

template <> struct std::hash<ltc::Hash128> {
  size_t operator()(const ltc::Hash128 &hash) const { return hash.low; }
};
