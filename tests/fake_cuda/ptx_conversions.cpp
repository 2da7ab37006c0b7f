//===- ptx_conversions.cpp - Comparisons and conversions of registers -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ptx_values.h"

#include <algorithm>

namespace fake_cuda {

using Parts = std::vector<std::string_view>;

namespace {

template <typename T> auto asNumber(T value) {
  if constexpr (isShort<T>)
    return value.value;
  else
    return value;
}

/// `count` numbers of 16 bits in a register, or one of any size.
template <typename T, int count, auto F>
void compare(uint64_t *r, const Instruction &i) {
  if constexpr (count == 1)
    r[i.to] = F(asNumber(get<T>(r[i.a])), asNumber(get<T>(r[i.b])));
  else
    for (size_t k = 0; k < count; ++k)
      r[i.several.at(k)] = F(asNumber(get<T>(r[i.a] >> 16 * k)),
                             asNumber(get<T>(r[i.b] >> 16 * k)));
}

template <typename T, int count = 1>
Operation comparisonOf(std::string_view name) {
  if (name == "eq")
    return compare<T, count, [](auto a, auto b) { return a == b; }>;
  if (name == "lt" || name == "lo")
    return compare<T, count, [](auto a, auto b) { return a < b; }>;
  if (name == "le" || name == "ls")
    return compare<T, count, [](auto a, auto b) { return a <= b; }>;
  if (name == "gt" || name == "hi")
    return compare<T, count, [](auto a, auto b) { return (a > b); }>;
  if (name == "ge" || name == "hs")
    return compare<T, count, [](auto a, auto b) { return a >= b; }>;
  if constexpr (!isReal<T>) {
    if (name == "ne")
      return compare<T, count, [](auto a, auto b) { return a != b; }>;
  } else {
    if (name == "ne") // and both are numbers
      return compare<T, count, [](auto a, auto b) { return (a < b || a > b); }>;
    if (name == "equ")
      return compare<T, count,
                     [](auto a, auto b) { return !(a < b || a > b); }>;
    if (name == "neu")
      return compare<T, count, [](auto a, auto b) { return a != b; }>;
    if (name == "ltu")
      return compare<T, count, [](auto a, auto b) { return !(a >= b); }>;
    if (name == "leu")
      return compare<T, count, [](auto a, auto b) { return !(a > b); }>;
    if (name == "gtu")
      return compare<T, count, [](auto a, auto b) { return !(a <= b); }>;
    if (name == "geu")
      return compare<T, count, [](auto a, auto b) { return !(a < b); }>;
    if (name == "num")
      return compare<T, count,
                     [](auto a, auto b) { return !std::isunordered(a, b); }>;
    if (name == "nan")
      return compare<T, count,
                     [](auto a, auto b) { return std::isunordered(a, b); }>;
  }
  return nullptr;
}

enum class Rounding { Nearest, Zero, Down, Up };

template <Rounding rounding> double roundToInteger(double value) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

/// Clamps; of no number it makes 0.
template <typename T> T toInteger(double value) {
  if (std::isnan(value))
    return 0;
  if (value <= double(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (value >= double(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return T(value);
}

template <typename To, typename From, bool toWhole, Rounding rounding>
void convert(uint64_t *r, const Instruction &i) {
  From from = get<From>(r[i.a]);
  if constexpr (!isReal<To> && !isReal<From>) {
    r[i.to] = put<To>(To(from));
  } else if constexpr (!isReal<To>) {
    r[i.to] = put<To>(toInteger<To>(roundToInteger<rounding>(asNumber(from))));
  } else if constexpr (isShort<To>) {
    auto value = double(asNumber(from));
    r[i.to] = put<To>({toWhole ? roundToInteger<rounding>(value) : value});
  } else if constexpr (isReal<From>) {
    auto value = double(asNumber(from));
    r[i.to] = put<To>(To(toWhole ? roundToInteger<rounding>(value) : value));
  } else {
    r[i.to] = put<To>(To(from));
  }
}

template <typename To, typename From>
Operation conversionOf(std::string_view mode) {
  if (mode == "rni")
    return convert<To, From, true, Rounding::Nearest>;
  if (mode == "rzi")
    return convert<To, From, true, Rounding::Zero>;
  if (mode == "rmi")
    return convert<To, From, true, Rounding::Down>;
  if (mode == "rpi")
    return convert<To, From, true, Rounding::Up>;
  if (mode == "rn" || mode == "cvt")
    return convert<To, From, false, Rounding::Nearest>;
  return nullptr;
}

/// Two floats to a register of two, the first one in the upper half.
template <typename T> void packTwo(uint64_t *r, const Instruction &i) {
  auto shortened = [&](int32_t from) {
    return put<T>({double(get<float>(r[from]))});
  };
  r[i.to] = shortened(i.a) << 16 | shortened(i.b);
}

} // namespace

Operation findComparison(const Parts &parts) {
  if (parts.size() != 3)
    return nullptr;
  if (parts[2] == "f16x2")
    return comparisonOf<Half, 2>(parts[1]);
  if (parts[2] == "bf16x2")
    return comparisonOf<Brain, 2>(parts[1]);
  Operation found = nullptr;
  withType(parts[2], [&]<typename T>(T) { found = comparisonOf<T>(parts[1]); });
  return found;
}

Operation findConversion(const Parts &parts) {
  if (parts.size() < 3 || parts.size() > 4)
    return nullptr;
  std::string_view to = parts[parts.size() - 2], from = parts.back();
  std::string_view mode = parts[parts.size() - 3];
  if (mode == "rn" && to == "f16x2" && from == "f32")
    return packTwo<Half>;
  if (mode == "rn" && to == "bf16x2" && from == "f32")
    return packTwo<Brain>;
  Operation found = nullptr;
  withType(to, [&]<typename To>(To) {
    withType(from, [&]<typename From>(From) {
      if constexpr (!std::is_same_v<To, bool> && !std::is_same_v<From, bool>)
        found = conversionOf<To, From>(mode);
    });
  });
  return found;
}

} // namespace fake_cuda
