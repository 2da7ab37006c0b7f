//===- compile_probe.cpp - Compiles a graph for the null device -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/engine.h"
#include "ltc/settings.h"

#include <iostream>

int main() {
  (void)ltc::set("device", "null");
  auto graph = ltc::Graph::parse("graph {\n%0 = input f32[1]\noutput %0\n}");
  auto engine = ltc::engineFor(0);
  if (!engine) {
    std::cout << engine.error().str() << "\n";
    return 1;
  }
  auto executable = (*engine)->compile(*graph);
  std::cout << (executable ? "compiled" : executable.error().str()) << "\n";
}
