//===- log.h - LTC_LOG=warn,cache=debug -------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

namespace ltc {

enum class LogLevel : uint8_t { Off, Error, Warn, Info, Debug };

/// Whether a line of this level and stage would be written. Cheap.
LTC_API bool logs(LogLevel level, Stage stage);
/// Writes one line to standard error, if logs(level, stage). Any thread.
LTC_API void log(LogLevel level, Stage stage, std::string_view message);

} // namespace ltc
