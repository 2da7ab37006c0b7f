//===- recurrent_steps.h - A recurrence, cut into tiles ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "for_ranges.h"
#include "packed_matrix.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Batch entries of a tile: more tiles than panels alone give many threads
/// work, and the gates of one stay in the cache.
inline constexpr int64_t kTileRows = 32;

/// The sizes of a layer, and the order in which it meets its times.
struct RecurrentSteps {
  RecurrentSteps(const at::Tensor &output, bool reverse)
      : times(output.size(0)), batch(output.size(1)), hidden(output.size(2)),
        reverse(reverse) {}

  /// The i-th time in the order of the recurrence.
  int64_t time(int64_t i) const { return reverse ? times - 1 - i : i; }
  /// Row `b` at the i-th time of a tensor of `width` floats a row.
  template <typename T>
  T *row(T *data, int64_t i, int64_t b, int64_t width) const {
    return data + (time(i) * batch + b) * width;
  }
  /// Row `b` of a state before the i-th time: of those that `states` has of
  /// each time, or of the `first`.
  const float *before(const float *first, const float *states, int64_t i,
                      int64_t b) const {
    return i == 0 ? first + b * hidden : row(states, i - 1, b, hidden);
  }

  const int64_t times, batch, hidden;
  const bool reverse;
};

/// Some hidden units of some batch entries: what a thread does at a time.
struct RecurrentTile {
  int64_t panel, col, units; ///< which units: a panel of the packed weight
  int64_t row, rows;         ///< which batch entries
};

/// `work` on all tiles of one time, on all threads.
template <typename Work>
void forTiles(const RecurrentSteps &layer, const PackedMatrix &weight,
              const Work &work) {
  int64_t blocks = at::ceil_div(layer.batch, kTileRows);
  forRanges(weight.panels() * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t panel = i / blocks, row = i % blocks * kTileRows;
      work(RecurrentTile{panel, panel * weight.groupCols(),
                         weight.panelWidth(panel), row,
                         std::min(kTileRows, layer.batch - row)});
    }
  });
}

} // namespace ltc::backend
