//===- lowered_form.cpp - The forms of a graph by name ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/compiler.h"

namespace ltc {

std::optional<LoweredForm> loweredForm(std::string_view name) {
  static constexpr std::pair<std::string_view, LoweredForm> kForms[] = {
      {"linalg", LoweredForm::Text},
      {"bytecode", LoweredForm::Bytecode},
      {"graph", LoweredForm::Graph},
      {"stablehlo", LoweredForm::StableHlo},
      {"stablehlo-part", LoweredForm::StableHloPart},
      {"tosa", LoweredForm::Tosa}};
  for (auto [form, value] : kForms)
    if (form == name)
      return value;
  return std::nullopt;
}

std::string_view loweredFormNames() {
  return "linalg, bytecode, graph, stablehlo, stablehlo-part or tosa";
}

} // namespace ltc
