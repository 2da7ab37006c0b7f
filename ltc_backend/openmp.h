//===- openmp.h - The OpenMP runtime that torch uses ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// The OpenMP runtime that libtorch_cpu was linked with. Reached through that
/// library and not linked, since a compiler's own choice may be another one,
/// and two runtimes mean two pools on the same cores. Any may be null.
struct OpenMP {
  /// Opens a region: `work` runs on the others of the team, the caller goes on
  /// as its thread 0 until it calls `end`.
  void (*start)(void (*work)(void *), void *data, unsigned threads) = nullptr;
  void (*end)() = nullptr;
  int (*threadNumber)() = nullptr;
  int (*threadCount)() = nullptr;
  void (*setThreads)(int) = nullptr;
  int (*setThreadsOfMkl)(int) = nullptr; ///< null without MKL; 0 undoes
  int (*pause)(int) = nullptr;           ///< null before OpenMP 5.0

  bool hasTeams() const { return start && end && threadNumber && threadCount; }
  /// Safe from any thread.
  static const OpenMP &get();

private:
  OpenMP();
};

} // namespace ltc::backend
