//===- captured_call.h - A library call as a CUDA graph ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gpu.h"

#include <span>
#include <string_view>

namespace ltc::cuda {

/// For one set of words. In the GPU's context.
class CapturedCall {
public:
  CapturedCall(CapturedCall &&) = default;

  /// Captures it in gpu.captures, in which nothing is done.
  CapturedCall(Gpu &gpu, drivers::BoundCall &call, std::span<int64_t> words);

  /// nullptr: it was not captured.
  CUgraph graph() const { return captured; }
  bool isFor(uint64_t otherBinding, std::span<const int64_t> otherWords) const;
  /// A word for why not, or "" where another time may do better.
  std::string_view refusal() const { return why; }

private:
  void runInCapture(drivers::BoundCall &call);
  /// Why the device may not do again what was captured, or "".
  std::string_view objection() const;

  using Capture = std::unique_ptr<ltc_capture, void (*)(ltc_capture *)>;
  Gpu *gpu;
  uint64_t binding;
  std::vector<int64_t> words;
  Capture capture;
  CUgraph captured = nullptr; ///< of `capture`
  std::string_view why;
};

} // namespace ltc::cuda
