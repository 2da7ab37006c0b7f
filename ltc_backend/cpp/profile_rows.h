//===- cpp/profile_rows.h - Parts of profile.json ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/profile.h"
#include "ltc_backend/cpp/json.h"

namespace ltc::backend {

/// A line of the program.
JsonBuilder lineRow(const Source &source);
inline JsonBuilder lineRow(SourceId place) { return lineRow(sourceOf(place)); }
inline int64_t timeOf(const profile::Run &run) {
  return run.ended ? run.ended - run.begun : 0;
}

/// Graphs with the steps of their programs, those that ran longest first.
JsonBuilder graphRows(const profile::Profile &profile);

/// Copies by line and direction, those that took longest first.
JsonBuilder transferRows(const std::vector<profile::Transfer> &transfers);
JsonBuilder notNumberRows(const std::vector<profile::NotANumber> &found);
/// What each run had on the device. A C++ program's optimizers do not say what
/// is theirs.
JsonBuilder memoryRows(std::vector<profile::Run> runs);

} // namespace ltc::backend
