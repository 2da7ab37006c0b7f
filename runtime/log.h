//===- log.h - The part of logging that settings need -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/log.h"

namespace ltc::runtime {

/// Applies "warn,cache=debug"; InvalidArgument, and nothing changed, when it
/// does not parse.
Status configureLog(std::string_view spec);

/// Writes a line whatever the levels say, without reading the settings.
void writeLogLine(LogLevel level, std::string_view component,
                  std::string_view message);

} // namespace ltc::runtime
