//===- pjrt_api.h - PJRT's table of C functions -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No plugin brings PJRT's header, and each refuses structs that are smaller
// than those of its own version. So a struct is an array here that is longer
// than any of them: its size, its extensions, and behind these a word for each
// member; what is not set is zero.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "drivers/worker.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>

namespace ltc::pjrt {

using drivers::Fault;
using drivers::Outcome;

enum class Function {
#define LTC_PJRT(name) name,
#include "pjrt_api.def"
#undef LTC_PJRT
};

/// A struct of PJRT's.
class Struct {
public:
  /// The members from the first one on.
  template <typename... Member> explicit Struct(Member... members) {
    words[0] = sizeof(words) - 2 * sizeof(words[0]);
    size_t place = 2;
    ((words[place++] = word(members)), ...);
  }
  /// Member `index`, counted from 0 behind the extensions.
  uint64_t &operator[](size_t index) { return words[index + 2]; }
  template <typename T> T pointer(size_t index) {
    return reinterpret_cast<T>(words[index + 2]);
  }
  std::string_view text(size_t index) {
    return {pointer<const char *>(index), words[index + 3]};
  }
  void *data() { return words.data(); }

private:
  template <typename T> static uint64_t word(T value) {
    if constexpr (std::is_pointer_v<T>)
      return reinterpret_cast<uintptr_t>(value);
    else
      return static_cast<uint64_t>(value);
  }

  std::array<uint64_t, 48> words = {};
};

/// The table of one plugin. Any thread.
class Api {
public:
  /// Opens a library, which stays.
  static std::variant<std::unique_ptr<Api>, Fault>
  open(const std::string &path);

  /// What PJRT says of a failure, with its words.
  Outcome call(Function function, Struct &arguments) const;
  /// Of those that do not fail: destructors, and what reads an error.
  void callAlways(Function function, Struct &arguments) const;
  /// Waits for an event, which is then destroyed; what failed.
  Outcome await(void *event) const;

  int major() const { return versionMajor; }
  int minor() const { return versionMinor; }

private:
  Fault take(Function function, void *error) const;

  const char *table = nullptr;
  int versionMajor = 0, versionMinor = 0;
};

} // namespace ltc::pjrt
