//===- heeding.h - Runs that Ctrl-C ends ------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::aot {

/// Whether runs heed SIGINT from now on: ltc_aot_heed_interrupts().
void heedInterrupts(bool heed);

/// While one lives, SIGINT ends loops (interrupts.h) and then goes to the
/// handler that was there. Nothing if runs do not heed it, or if there was no
/// handler: the signal ends the process then, or is ignored.
class Heeding {
public:
  Heeding();
  ~Heeding();
  Heeding(const Heeding &) = delete;

private:
  const bool heeds;
};

} // namespace ltc::aot
