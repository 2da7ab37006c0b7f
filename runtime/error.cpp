//===- error.cpp - How an error reads ---------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/error.h"

#include "labelled_line.h"

#include <array>

namespace ltc {

std::string_view name(Stage stage) {
  constexpr std::array<std::string_view, 8> names = {
      "record",   "graph",   "import", "lower",
      "optimize", "codegen", "cache",  "execute"};
  return names[size_t(stage)];
}

std::string_view name(ErrorCode code) {
  constexpr std::array<std::string_view, 13> names = {
      "invalid argument",   "unsupported",     "out of range",
      "out of memory",      "compile failed",  "device failed",
      "interrupted",        "internal error",  "linear algebra",
      "unexpected compile", "unexpected sync", "not finite",
      "miscompiled"};
  return names[size_t(code)];
}

std::string Error::str() const {
  std::string text = message;
  auto line = [&](std::string_view label, std::string_view value) {
    runtime::addLine(text, label, value);
  };
  line("recorded at", source.str());
  line("as", op);
  line("stage",
       std::string(name(stage)) + " (" + std::string(name(code)) + ")");
  line("try", hint);
  return text;
}

} // namespace ltc
