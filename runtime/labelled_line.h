//===- labelled_line.h - A line of a report with its label ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace ltc::runtime {

/// Adds a line to `text`, the values of all lines under each other; nothing for
/// an empty value. Labels have at most 12 characters.
inline void addLine(std::string &text, std::string_view label,
                    std::string_view value) {
  if (value.empty())
    return;
  text += "\n  ";
  text += label;
  text.append(13 - label.size(), ' ');
  text += value;
}

} // namespace ltc::runtime
