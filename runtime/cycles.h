//===- cycles.h - A clock that is cheap to read -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace ltc::runtime {

/// Nanoseconds that pass, from the processor's counter where it runs at one
/// rate: reading it takes a third of what steady_clock does, which counts where
/// each op of a step is timed. The first one made takes 2 ms.
class Cycles {
public:
  /// Since some moment before the process's first call.
  static int64_t now() {
#if defined(__x86_64__)
    static const Cycles cycles;
    if (cycles.rate > 0) [[likely]]
      return int64_t(double(__rdtsc() - cycles.first) * cycles.rate);
#endif
    return steady();
  }

private:
  static int64_t steady() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch())
        .count();
  }

#if defined(__x86_64__)
  Cycles() : first(__rdtsc()) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kInvariant = 1 << 8;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & kInvariant))
      return;
    constexpr int64_t kSample = 2'000'000;
    int64_t start = steady(), end = start;
    uint64_t before = __rdtsc();
    while (end - start < kSample)
      end = steady();
    rate = double(end - start) / double(__rdtsc() - before);
  }

  uint64_t first;
  double rate = 0; ///< nanoseconds each; 0: not to be used
#endif
};

/// The same as a clock of the standard library's.
struct CycleClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CycleClock>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(duration(Cycles::now())); }
};

} // namespace ltc::runtime
