//===- region_lines.h - Lines of a call's regions ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/region_ops.h"

namespace ltc::backend {

/// While it lives, what its thread records has the line that is running and
/// these of its regions' nodes.
class RegionLines {
public:
  explicit RegionLines(std::vector<SourceId> lines);
  ~RegionLines();
  RegionLines(const RegionLines &) = delete;
  RegionLines &operator=(const RegionLines &) = delete;

private:
  std::vector<SourceId> lines;
};

} // namespace ltc::backend
