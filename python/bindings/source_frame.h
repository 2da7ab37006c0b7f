//===- source_frame.h - The user's Python line that runs now ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/source.h"

#include <string>
#include <vector>

namespace ltc::python {

/// Frames of code below these folders are not the user's. The GIL must be held;
/// call it once, before the first currentSource().
void setInsideFolders(std::vector<std::string> folders);

/// The innermost Python frame of this thread that is the user's: about 0.1 us.
/// 0 if there is none. Any thread, with or without the GIL; without it the
/// first call from a place takes the GIL.
SourceId currentSource();

} // namespace ltc::python
