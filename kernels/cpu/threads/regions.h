//===- regions.h - Parallel regions -----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::kernels {

/// Regions of the OpenMP runtime that Lent::threads was linked with. Reached
/// through that library and not linked, since a compiler's own choice may be
/// another one, and two runtimes mean two pools on the same cores. Without it,
/// regions of threads of our own, which start and end with the region.
struct Regions {
  /// Opens a region: `work` runs on the others of the team, the caller goes on
  /// as its thread 0 until it calls `end`. Null: loops keep to their thread.
  void (*start)(void (*work)(void *), void *data, unsigned threads) = nullptr;
  void (*end)() = nullptr;
  int (*threadNumber)() = nullptr;
  /// What a region of the calling thread gets, and whether that is in one.
  int (*threads)() = nullptr;
  bool (*isInside)() = nullptr;
  // Null without OpenMP, and where noted.
  void (*setThreads)(int) = nullptr;
  int (*setThreadsOfMkl)(int) = nullptr; ///< null without MKL; 0 undoes
  int (*pause)(int) = nullptr;           ///< null before OpenMP 5.0

  bool hasTeams() const { return start && end && threadNumber; }
  /// Safe from any thread.
  static const Regions &get();

private:
  Regions();
  void findOpenMP();
};

} // namespace ltc::kernels
