//===- torch_spans.h - What we do, as spans of torch.profiler ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

namespace ltc::backend {

/// Makes torch.profiler the listener of ltc/spans.h, while it is on.
void lendTorchSpans();

/// Whether torch.profiler is on, on any thread.
LTC_API void setTorchProfiler(bool on);
/// Waits until no thread of ours writes into the rows of the calling thread's
/// profiler, which is about to end. Must not hold the GIL.
LTC_API void awaitTorchSpans();

} // namespace ltc::backend
