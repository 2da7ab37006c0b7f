//===- pjrt_options.h - What a plugin's client is created with -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "pjrt_api.h"

#include <deque>
#include <vector>

namespace ltc::pjrt {

/// What stands behind the colon of LTC_DEVICE: a path, and, behind a question
/// mark, options with & between.
struct Argument {
  explicit Argument(std::string_view text);

  std::string path, options;
};

/// PJRT's named values of "a=1&b=text&c=[0+1]": an integer, a number with a
/// point or an exponent, true or false, a list of integers, else a text, which
/// quotes may enclose. Refers to the text.
class NamedValues {
public:
  Outcome read(std::string_view text);

  const void *data() const { return values.data(); }
  size_t size() const { return values.size(); }

private:
  /// PJRT_NamedValue: the plugin walks an array of them, so it is as long as
  /// the plugin thinks.
  struct Value {
    uint64_t bytes = sizeof(Value);
    void *extensions = nullptr;
    const char *name = nullptr;
    size_t nameSize = 0;
    uint64_t type = 0;
    uint64_t value = 0; ///< the bits of a number, or an address
    size_t valueSize = 1;
  };
  static_assert(sizeof(Value) == 56);

  bool readValue(std::string_view text, Value &value);
  bool readList(std::string_view text, Value &value);

  std::vector<Value> values;
  std::deque<std::vector<int64_t>> lists;
};

} // namespace ltc::pjrt
