//===- map_limit.h - How many memory maps a process may have ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace ltc::cpu {

/// Says once in a process that few of its memory maps are left, if that is so:
/// at the limit nothing can be allocated, by us or by anybody else. As long as
/// the process has hundreds of them it takes a tenth of a millisecond.
void warnNearMapLimit();

/// "...; the process has 65500 of 65530 memory maps: <remedy>" if few are left,
/// else empty: what an error about memory ends with.
std::string whyNearMapLimit();

} // namespace ltc::cpu
