//===- interpreter/first_sight.h - Graphs like none before ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/collect.h"

namespace ltc::backend {

/// Whether the collection computes little and has another structure than all
/// before it in this process, whatever their sizes: then it is not even looked
/// for on disk. Programs that decide by data what comes next have a new
/// structure each time. Any thread.
bool isSmallAndNew(const Collection &collection);

} // namespace ltc::backend
