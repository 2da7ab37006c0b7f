//===- report.h - What the tests came to, as JSON ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace conformance {

/// Has the run of all tests write a file at its end: the plugin, counts, and
/// for each test its suite, name, outcome (passed, failed or skipped), seconds
/// and what it said.
void reportAsJson(const std::string &file, const std::string &plugin);

} // namespace conformance
