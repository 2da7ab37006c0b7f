//===- run_bundle.h - Bundles on files of numpy's ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

namespace ltc::tools {

/// Runs an entry of a bundle on .npy files, one an input, and writes its
/// outputs: `out` for the only one, or out0.npy, out1.npy, … for out.npy. An
/// empty name is the first entry. Returns what main() does.
int runBundle(const std::string &path, const std::string &entry,
              const std::vector<std::string> &inputs, const std::string &out);

/// Prints what a bundle's entries take and give.
int listBundle(const std::string &path);

} // namespace ltc::tools
