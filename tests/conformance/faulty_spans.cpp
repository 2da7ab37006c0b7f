//===- faulty_spans.cpp - Wrong spans for a profile -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "faulty.h"

#include <vector>

namespace faulty {

/// What trace_stop gives, to be changed.
static std::vector<ltc_span> &spans() {
  static std::vector<ltc_span> all;
  return all;
}

void keepOldSpans() {
  table.trace_stop = [](ltc_device *device, size_t *count, int64_t *now) {
    const ltc_span *all = real.trace_stop(device, count, now);
    spans().insert(spans().end(), all, all + *count);
    *count = spans().size();
    return const_cast<const ltc_span *>(spans().data());
  };
}

void tellAnotherClock() {
  table.trace_stop = [](ltc_device *device, size_t *count, int64_t *now) {
    const ltc_span *all = real.trace_stop(device, count, now);
    *now /= 1000;
    return all;
  };
}

void tellSpansOfOneLane() {
  table.trace_stop = [](ltc_device *device, size_t *count, int64_t *now) {
    const ltc_span *all = real.trace_stop(device, count, now);
    spans().assign(all, all + *count);
    for (size_t i = 1; i < *count; ++i) // begins before the last one ends
      spans()[i].start = (spans()[i - 1].start + spans()[i - 1].end) / 2;
    return const_cast<const ltc_span *>(spans().data());
  };
}

} // namespace faulty
