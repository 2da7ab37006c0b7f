//===- warnings.h - Who hears what PyTorch's kernels warn of ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A user hears a kernel's warnings when a call is recorded, at their line. A
// kernel that is asked about other things, or runs later, says nothing of them.
// All of these are for the thread that makes them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <c10/util/Exception.h>

#include <vector>

namespace ltc::backend {

/// While it lives, nobody hears what is warned of, and what is said once in a
/// process (TORCH_WARN_ONCE) is still to be said. Meanwhile other threads may
/// say that again.
class Quiet {
public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet &) = delete;
  Quiet &operator=(const Quiet &) = delete;

private:
  struct Silence final : c10::WarningHandler {
    void process(const c10::Warning &) override {}
  } silence;
  c10::WarningUtils::WarningHandlerGuard guard{&silence};
};

/// While it lives, what is warned of is added to `heard` instead.
class Listener {
public:
  explicit Listener(std::vector<c10::Warning> &heard) : ear(heard) {}

private:
  struct Ear final : c10::WarningHandler {
    explicit Ear(std::vector<c10::Warning> &heard) : heard(heard) {}
    void process(const c10::Warning &warning) override;
    std::vector<c10::Warning> &heard;
  } ear;
  c10::WarningUtils::WarningHandlerGuard guard{&ear};
};

/// While it lives, what a Listener of any thread has heard is not said again.
class OnlyUnheard {
  struct Filter final : c10::WarningHandler {
    void process(const c10::Warning &warning) override;
    c10::WarningHandler *next = c10::WarningUtils::get_warning_handler();
  } filter;
  c10::WarningUtils::WarningHandlerGuard guard{&filter};
};

} // namespace ltc::backend
