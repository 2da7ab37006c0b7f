//===- faulty.h - What the faults of a driver share -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"

namespace faulty {

/// That of the driver behind, and what the host gets.
extern ltc_plugin real, table;

// faulty_spans.cpp: each puts itself into the table.
void keepOldSpans();
void tellAnotherClock();
void tellSpansOfOneLane();

} // namespace faulty
