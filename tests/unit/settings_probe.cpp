//===- settings_probe.cpp - What the environment makes of settings --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/log.h"
#include "ltc/settings.h"

#include <iostream>

int main() {
  for (const ltc::SettingInfo &setting : ltc::listSettings())
    std::cout << setting.name << "=" << setting.value << "\n";
  std::cout.flush();
  ltc::log(ltc::LogLevel::Debug, ltc::Stage::Cache, "a cache line");
  ltc::log(ltc::LogLevel::Warn, ltc::Stage::Execute, "an execute line");
}
