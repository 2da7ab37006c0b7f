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

/// torch.profiler is on, or about to end. Then waits until no thread of ours
/// writes into its rows any more. Must not hold the GIL.
LTC_API void setTorchProfiler(bool on);

} // namespace ltc::backend
