//===- plugin_probe.h - Asks a plugin in a process of its own ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace ltc::runtime {

/// Loads a plugin and calls its query in another process, where it may crash or
/// hang: what it did, or "" if nothing was found to be wrong. The process is
/// ltc-plugin-probe, beside libltc_runtime.so; without it nothing is asked.
std::string whyUnusable(const std::string &path);

} // namespace ltc::runtime
