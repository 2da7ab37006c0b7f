//===- cpp/profile_files.h - What a profile is written as -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same as python/torch_ltc/profiling/profile_files.py and profile_trace.py
// write.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/profile.h"

#include <string>

namespace ltc::backend {

/// profile.json.
std::string profileJson(const profile::Profile &profile);
/// trace.json, a timeline in the Trace Event Format.
std::string traceJson(const profile::Profile &profile);

/// Begins one for the whole program if the setting `profile` names a directory.
void beginProfileBySetting();
/// Writes it.
void endProfileBySetting();

} // namespace ltc::backend
