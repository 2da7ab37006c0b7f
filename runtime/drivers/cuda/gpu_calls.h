//===- gpu_calls.h - Library calls on a GPU, queued or captured -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library's kernels cannot be told other addresses, so a call is captured for
// each set of words that it comes back to, as a graph that others have in them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "captured_call.h"

#include <list>
#include <span>

namespace ltc::cuda {

/// Of one program, by number. From one thread at a time, in the GPU's context.
class GpuCalls {
public:
  /// Which call, and how it is bound to its attributes; or none.
  struct Id {
    uint32_t number = UINT32_MAX;
    uint64_t binding = 0;
    bool isCall() const { return number != UINT32_MAX; }
    bool operator==(const Id &) const = default;
  };

  /// Errors of call i have site `firstSite` + i.
  static Result<GpuCalls>
  bind(Gpu &gpu, const std::vector<Artifact::Call> &calls, int64_t firstSite);
  /// Before each run: makes the calls those for these values.
  Status choose(std::span<const int64_t> symbols);

  Id idOf(uint32_t number) { return {number, calls[number].binding}; }
  Outcome queue(CUstream stream, Id id, bool writesDonated,
                std::span<int64_t> words);

  /// Whether it may be part of a graph, as far as is known.
  bool mayBeCaptured(uint32_t number) const { return !states[number].outside; }
  /// That one which cannot be is queued.
  void countOutside(uint32_t number) { ++*states[number].outside; }
  /// Whether graphs with calls may be launched in it.
  bool mayRunIn(CUstream stream) { return gpu.capturesFor(stream); }
  /// What the library's kernels go by; where that is new, all that was captured
  /// is forgotten.
  uint64_t settings();
  /// A graph that does the call, until the next one asks; nullptr: it cannot be
  /// captured, now or from now on.
  CUgraph capture(Id id, std::span<int64_t> words);

private:
  struct State {
    std::string op;
    NamedCounts::Count *outside = nullptr; ///< why it can be in no graph
    std::list<CapturedCall> captured;      ///< the last used first
    int64_t windowBegin = 0;               ///< the run in which it began
    int captures = 0;                      ///< since then
  };
  /// Buffers come back in turns of few. Beyond that many, or if it is captured
  /// that often in so many runs, nothing is won.
  static constexpr size_t kMostCaptured = 8;
  static constexpr int kMostCaptures = 16;
  static constexpr int64_t kWindow = 64;

  GpuCalls(Gpu &gpu, drivers::Calls calls, int64_t firstSite)
      : gpu(gpu), calls(std::move(calls)), firstSite(firstSite) {}
  void leaveOutside(State &state, std::string_view why);
  bool movesTooOften(State &state);

  Gpu &gpu;
  drivers::Calls calls;
  int64_t firstSite;
  std::vector<State> states;
  int64_t runs = 0;
  uint64_t lastSettings = 0;
};

} // namespace ltc::cuda
