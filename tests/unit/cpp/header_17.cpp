//===- header_17.cpp - The public header in C++17 -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>

static_assert(__cplusplus == 201703L);

int64_t launchesIn17() {
  ltc::initialize({{"log", "warn"}, {"auto_step", "true"}});
  return ltc::metrics()["execute.launches"];
}
