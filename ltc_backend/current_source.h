//===- current_source.h - The user's line of an op --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/source.h"

namespace ltc::backend {

/// The user's line for the op that is being recorded. 0: unknown.
SourceId currentSource();

/// Names the user's line that is running; called once for each recorded op, so
/// it must be quick. 0: unknown.
using FrameHook = SourceId (*)();
LTC_API void setFrameHook(FrameHook hook);
/// Takes the hook if there is none: Python's knows more.
LTC_API void offerFrameHook(FrameHook hook);

} // namespace ltc::backend
