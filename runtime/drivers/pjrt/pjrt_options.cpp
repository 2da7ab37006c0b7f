//===- pjrt_options.cpp - What a plugin's client is created with ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_options.h"

#include "drivers/worker_table.h"

#include <algorithm>
#include <bit>

namespace ltc::pjrt {

using drivers::isNumber;

namespace {

enum Type : uint64_t { Text, Integer, IntegerList, Float, Bool };

/// Cuts off what stands before the next separator.
std::string_view next(std::string_view &text, char separator) {
  std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// Words such as "inf" are texts.
bool looksLikeNumber(std::string_view text) {
  return text.find_first_of("0123456789") <= 1;
}

bool isEnclosed(std::string_view text, char open, char close) {
  return text.size() > 1 && text.front() == open && text.back() == close;
}

} // namespace

Argument::Argument(std::string_view text)
    : path(next(text, '?')), options(text) {}

bool NamedValues::readList(std::string_view text, Value &value) {
  std::vector<int64_t> &list = lists.emplace_back();
  while (!text.empty())
    if (!isNumber(next(text, '+'), list.emplace_back()))
      return false;
  value.type = IntegerList;
  value.value = reinterpret_cast<uintptr_t>(list.data());
  value.valueSize = list.size();
  return true;
}

bool NamedValues::readValue(std::string_view text, Value &value) {
  int64_t integer = 0;
  float real = 0;
  if (isEnclosed(text, '[', ']'))
    return readList(text.substr(1, text.size() - 2), value);
  if (isNumber(text, integer)) {
    value.type = Integer;
    value.value = uint64_t(integer);
  } else if (looksLikeNumber(text) && isNumber(text, real)) {
    value.type = Float;
    value.value = std::bit_cast<uint32_t>(real);
  } else if (text == "true" || text == "false") {
    value.type = Bool;
    value.value = text == "true";
  } else {
    if (isEnclosed(text, '\'', '\''))
      text = text.substr(1, text.size() - 2);
    value.type = Text;
    value.value = reinterpret_cast<uintptr_t>(text.data());
    value.valueSize = text.size();
  }
  return true;
}

Outcome NamedValues::read(std::string_view text) {
  while (!text.empty()) {
    std::string_view option = next(text, '&'), content = option;
    std::string_view name = next(content, '=');
    Value &value = values.emplace_back();
    value.name = name.data();
    value.nameSize = name.size();
    if (name.empty() || name.size() == option.size() ||
        !readValue(content, value))
      return Fault{LTC_INVALID_ARGUMENT,
                   "'" + std::string(option) +
                       "' is no option of a PJRT client: they are "
                       "name=value, with & between; a list is [1+2]"};
  }
  return std::nullopt;
}

} // namespace ltc::pjrt
