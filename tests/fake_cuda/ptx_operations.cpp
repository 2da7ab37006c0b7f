//===- ptx_operations.cpp - What instructions do to registers -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx_values.h"

#include <algorithm>

namespace fake_cuda {

Operation findConversion(const std::vector<std::string_view> &parts);
Operation findComparison(const std::vector<std::string_view> &parts);

namespace {

using Parts = std::vector<std::string_view>;

Parts split(std::string_view opcode) {
  Parts parts;
  while (!opcode.empty()) {
    size_t dot = std::min(opcode.find('.'), opcode.size());
    parts.push_back(opcode.substr(0, dot));
    opcode.remove_prefix(std::min(dot + 1, opcode.size()));
  }
  return parts;
}

bool has(const Parts &parts, std::string_view word) {
  return std::ranges::find(parts, word) != parts.end();
}

template <typename T, auto F> void unary(uint64_t *r, const Instruction &i) {
  r[i.to] = put<T>(T(F(get<T>(r[i.a]))));
}
template <typename T, auto F> void binary(uint64_t *r, const Instruction &i) {
  r[i.to] = put<T>(T(F(get<T>(r[i.a]), get<T>(r[i.b]))));
}
template <typename T, auto F> void ternary(uint64_t *r, const Instruction &i) {
  r[i.to] = put<T>(T(F(get<T>(r[i.a]), get<T>(r[i.b]), get<T>(r[i.c]))));
}

/// As an integer of the same size without a sign, where overflow is defined.
template <typename T> auto wrap(T value) {
  return std::make_unsigned_t<T>(value);
}

template <typename T> Operation arithmeticOfReals(const Parts &parts) {
  std::string_view base = parts[0];
  if constexpr (isShort<T>) {
    if (base == "add")
      return binary<T, [](T a, T b) { return T{a.value + b.value}; }>;
    if (base == "sub")
      return binary<T, [](T a, T b) { return T{a.value - b.value}; }>;
    if (base == "mul")
      return binary<T, [](T a, T b) { return T{a.value * b.value}; }>;
    if (base == "fma")
      return ternary<T, [](T a, T b, T c) {
        return T{std::fma(a.value, b.value, c.value)};
      }>;
    if (base == "neg")
      return unary<T, [](T a) { return T{-a.value}; }>;
    if (base == "abs")
      return unary<T, [](T a) { return T{std::fabs(a.value)}; }>;
  } else {
    if (base == "add")
      return binary<T, [](T a, T b) { return a + b; }>;
    if (base == "sub")
      return binary<T, [](T a, T b) { return a - b; }>;
    if (base == "mul")
      return binary<T, [](T a, T b) { return a * b; }>;
    if (base == "div")
      return binary<T, [](T a, T b) { return a / b; }>;
    if (base == "fma")
      return ternary<T, [](T a, T b, T c) { return std::fma(a, b, c); }>;
    if (base == "neg")
      return unary<T, [](T a) { return -a; }>;
    if (base == "abs")
      return unary<T, [](T a) { return std::fabs(a); }>;
    if (base == "sqrt")
      return unary<T, [](T a) { return std::sqrt(a); }>;
    if (base == "rcp")
      return unary<T, [](T a) { return T(1) / a; }>;
    if (base == "copysign") // the sign comes first
      return binary<T, [](T a, T b) { return std::copysign(b, a); }>;
    bool keepsNan = has(parts, "NaN");
    if (base == "max" && keepsNan)
      return binary<T, [](T a, T b) {
        return std::isunordered(a, b) ? T(NAN) : std::fmax(a, b);
      }>;
    if (base == "min" && keepsNan)
      return binary<T, [](T a, T b) {
        return std::isunordered(a, b) ? T(NAN) : std::fmin(a, b);
      }>;
    if (base == "max")
      return binary<T, [](T a, T b) { return std::fmax(a, b); }>;
    if (base == "min")
      return binary<T, [](T a, T b) { return std::fmin(a, b); }>;
  }
  return nullptr;
}

/// The upper half of a product.
template <typename T> T highProduct(T a, T b) {
  using Wide =
      std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return T(Wide(a) * Wide(b) >> (8 * sizeof(T)));
}

/// mul.wide and mad.wide: operands of half the result's size.
template <typename T, bool adds>
void wideProduct(uint64_t *r, const Instruction &i) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  uint64_t product = uint64_t(Wide(get<T>(r[i.a])) * Wide(get<T>(r[i.b])));
  r[i.to] = adds ? product + r[i.c] : product;
}

template <typename T> Operation products(const Parts &parts) {
  bool adds = parts[0] == "mad";
  if (has(parts, "wide"))
    return adds ? wideProduct<T, true> : wideProduct<T, false>;
  if (has(parts, "hi"))
    return adds ? ternary<T,
                          [](T a, T b, T c) {
                            return wrap(highProduct(a, b)) + wrap(c);
                          }>
                : binary<T, [](T a, T b) { return highProduct(a, b); }>;
  if (adds)
    return ternary<T, [](T a, T b, T c) {
      return uint64_t(a) * uint64_t(b) + uint64_t(c);
    }>;
  return binary<T, [](T a, T b) { return uint64_t(a) * uint64_t(b); }>;
}

template <typename T> Operation arithmeticOfIntegers(const Parts &parts) {
  std::string_view base = parts[0];
  if (base == "mul" || base == "mad")
    return products<T>(parts);
  if (base == "add")
    return binary<T, [](T a, T b) { return wrap(a) + wrap(b); }>;
  if (base == "sub")
    return binary<T, [](T a, T b) { return wrap(a) - wrap(b); }>;
  // Whatever a GPU gives for a divisor of 0; -1 must not trap.
  if (base == "div")
    return binary<T, [](T a, T b) {
      return b == 0 ? T(-1) : b == T(-1) ? T(0 - wrap(a)) : T(a / b);
    }>;
  if (base == "rem")
    return binary<T, [](T a, T b) {
      return b == 0 ? a : std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
    }>;
  if (base == "min")
    return binary<T, [](T a, T b) { return std::min(a, b); }>;
  if (base == "max")
    return binary<T, [](T a, T b) { return std::max(a, b); }>;
  if (base == "neg")
    return unary<T, [](T a) { return T(0 - wrap(a)); }>;
  if (base == "abs")
    return unary<T, [](T a) { return a < T(0) ? T(0 - wrap(a)) : a; }>;
  return nullptr;
}

/// A shift by the size or more leaves the sign, or zeros.
template <typename T, bool isLeft>
void shift(uint64_t *r, const Instruction &i) {
  constexpr uint32_t bits = 8 * sizeof(T);
  auto by = uint32_t(r[i.b]);
  T value = get<T>(r[i.a]);
  if (isLeft)
    r[i.to] = put<T>(by < bits ? T(wrap(value) << by) : T(0));
  else
    r[i.to] = put<T>(T(value >> std::min(by, bits - 1)) &
                     T(by < bits || value < T(0) ? T(-1) : T(0)));
}

template <typename T> void extractBits(uint64_t *r, const Instruction &i) {
  uint32_t from = uint32_t(r[i.b]) & 255, count = uint32_t(r[i.c]) & 255;
  uint64_t value = from < 64 ? uint64_t(wrap(get<T>(r[i.a]))) >> from : 0;
  r[i.to] = count < 64 ? value & ((uint64_t(1) << count) - 1) : value;
}

template <typename T> Operation bits(const Parts &parts) {
  std::string_view base = parts[0];
  if (base == "and")
    return binary<T, [](T a, T b) { return T(a & b); }>;
  if (base == "or")
    return binary<T, [](T a, T b) { return T(a | b); }>;
  if (base == "xor")
    return binary<T, [](T a, T b) { return T(a ^ b); }>;
  if constexpr (std::is_same_v<T, bool>) {
    if (base == "not")
      return unary<T, [](T a) { return !a; }>;
  } else {
    if (base == "not")
      return unary<T, [](T a) { return T(~a); }>;
    if (base == "shl")
      return shift<T, true>;
    if (base == "shr")
      return shift<T, false>;
    if (base == "bfe" && std::is_unsigned_v<T>)
      return extractBits<T>;
    if (base == "clz")
      return [](uint64_t *r, const Instruction &i) {
        r[i.to] = uint64_t(std::countl_zero(wrap(get<T>(r[i.a]))));
      };
    if (base == "popc")
      return [](uint64_t *r, const Instruction &i) {
        r[i.to] = uint64_t(std::popcount(wrap(get<T>(r[i.a]))));
      };
  }
  return nullptr;
}

/// Each byte of the result is one of eight, or the sign of one.
void permute(uint64_t *r, const Instruction &i) {
  uint64_t from = uint32_t(r[i.a]) | uint64_t(uint32_t(r[i.b])) << 32;
  uint64_t result = 0;
  for (int byte = 0; byte < 4; ++byte) {
    uint64_t selector = r[i.c] >> (4 * byte) & 15;
    auto value = uint8_t(from >> (8 * (selector & 7)));
    if (selector & 8)
      value = value & 0x80 ? 0xff : 0;
    result |= uint64_t(value) << (8 * byte);
  }
  r[i.to] = result;
}

template <typename T> void select(uint64_t *r, const Instruction &i) {
  r[i.to] = put<T>(get<T>(r[i.c] & 1 ? r[i.a] : r[i.b]));
}
void selectBits(uint64_t *r, const Instruction &i) {
  r[i.to] = r[i.c] & 1 ? r[i.a] : r[i.b];
}

template <typename T> void move(uint64_t *r, const Instruction &i) {
  r[i.to] = put<T>(T(get<T>(r[i.a])));
}
void moveBits(uint64_t *r, const Instruction &i) { r[i.to] = r[i.a]; }

/// A register as a vector of elements of so many bits, and back.
template <int elementBits, int count>
void unpack(uint64_t *r, const Instruction &i) {
  uint64_t value = r[i.a];
  constexpr uint64_t mask = (uint64_t(1) << elementBits) - 1;
  for (size_t k = 0; k < count; ++k)
    r[i.several[k]] = value >> (elementBits * k) & mask;
}
template <int elementBits, int count>
void pack(uint64_t *r, const Instruction &i) {
  uint64_t value = 0;
  constexpr uint64_t mask = (uint64_t(1) << elementBits) - 1;
  for (size_t k = 0; k < count; ++k)
    value |= (r[i.several[k]] & mask) << (elementBits * k);
  r[i.to] = value;
}

/// Two of 16 bits in a register.
template <typename T, auto F> void pairs(uint64_t *r, const Instruction &i) {
  uint64_t result = 0;
  for (int at : {0, 16}) {
    double a = get<T>(r[i.a] >> at).value, b = get<T>(r[i.b] >> at).value;
    double c = get<T>(r[i.c] >> at).value;
    result |= put<T>({F(a, b, c)}) << at;
  }
  r[i.to] = result;
}

template <typename T> Operation findPairs(std::string_view base) {
  if (base == "add")
    return pairs<T, [](double a, double b, double) { return a + b; }>;
  if (base == "sub")
    return pairs<T, [](double a, double b, double) { return a - b; }>;
  if (base == "mul")
    return pairs<T, [](double a, double b, double) { return a * b; }>;
  if (base == "fma")
    return pairs<T, [](double a, double b, double c) {
      return std::fma(a, b, c);
    }>;
  if (base == "neg")
    return pairs<T, [](double a, double, double) { return -a; }>;
  return nullptr;
}

template <typename T, auto F>
void integerPairs(uint64_t *r, const Instruction &i) {
  uint64_t result = 0;
  for (int at : {0, 16})
    result |= uint64_t(uint16_t(F(T(r[i.a] >> at), T(r[i.b] >> at)))) << at;
  r[i.to] = result;
}

template <typename T> Operation findIntegerPairs(std::string_view base) {
  if (base == "add")
    return integerPairs<T, [](T a, T b) { return a + b; }>;
  if (base == "min")
    return integerPairs<T, [](T a, T b) { return std::min(a, b); }>;
  if (base == "max")
    return integerPairs<T, [](T a, T b) { return std::max(a, b); }>;
  return nullptr;
}

Operation findVector(const Parts &parts) {
  bool isPack = parts[0] == "pack";
  if (parts[1] == "2" && parts[2] == "b32")
    return isPack ? pack<16, 2> : unpack<16, 2>;
  if (parts[1] == "2" && parts[2] == "b64")
    return isPack ? pack<32, 2> : unpack<32, 2>;
  if (parts[1] == "4" && parts[2] == "b64")
    return isPack ? pack<16, 4> : unpack<16, 4>;
  if (parts[1] == "4" && parts[2] == "b32")
    return isPack ? pack<8, 4> : unpack<8, 4>;
  return nullptr;
}

} // namespace

Operation findOperation(std::string_view opcode) {
  Parts parts = split(opcode);
  std::string_view base = parts[0], type = parts.back();
  if (base == "setp")
    return findComparison(parts);
  if (base == "cvt")
    return findConversion(parts);
  if (base == "cvta")
    return moveBits;
  if (base == "prmt")
    return permute;
  if (base == "pack" || base == "unpack")
    return findVector(parts);
  if (type == "u16x2" || type == "s16x2")
    return type == "u16x2" ? findIntegerPairs<uint16_t>(base)
                           : findIntegerPairs<int16_t>(base);
  if (type == "f16x2" || type == "bf16x2")
    return type == "f16x2" ? findPairs<Half>(base) : findPairs<Brain>(base);
  Operation found = nullptr;
  withType(type, [&]<typename T>(T) {
    if (base == "mov")
      found = isReal<T> ? moveBits : move<T>;
    else if (base == "selp")
      found = isReal<T> ? selectBits : select<T>;
    else if constexpr (isReal<T>)
      found = arithmeticOfReals<T>(parts);
    else
      found = bits<T>(parts);
    if constexpr (!isReal<T> && !std::is_same_v<T, bool>)
      if (!found)
        found = arithmeticOfIntegers<T>(parts);
  });
  return found;
}

} // namespace fake_cuda
