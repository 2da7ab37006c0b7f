//===- collectives/collective_flush.h - Begun at rest -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recorded collective begins when its graph ends, by a read or the end of a
// step. A program may do neither for long: it loads data, or waits for another
// rank by other means than a collective, and that rank waits for it. So once
// nothing more is recorded for a while, a thread ends the graph. While a
// program goes on recording it never does: where a graph ends would depend on
// time, and each such graph would be compiled.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// One is recorded: it begins at the latest a while after the program has
/// recorded anything. Starts the thread.
void flushWhenIdle();

/// Ends the thread, if no launch keeps it waiting.
void stopFlushing();

} // namespace ltc::backend
