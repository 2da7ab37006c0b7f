//===- lstm_steps.h - The recurrence of an LSTM, cut into tiles -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "for_ranges.h"
#include "lstm_cell.h"
#include "packed_matrix.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

static_assert(kPanelCols == kLstmGates);
/// Batch entries of a tile: more tiles than panels alone give many threads
/// work, and the gates of one stay in the cache.
inline constexpr int64_t kLstmTileRows = 32;

/// The sizes of a layer, and the order in which it meets its times.
struct LstmSteps {
  LstmSteps(const at::Tensor &output, bool reverse)
      : times(output.size(0)), batch(output.size(1)), hidden(output.size(2)),
        reverse(reverse) {}

  /// The i-th time in the order of the recurrence.
  int64_t time(int64_t i) const { return reverse ? times - 1 - i : i; }
  /// Row `b` at the i-th time of a tensor of `width` floats a row.
  template <typename T>
  T *row(T *data, int64_t i, int64_t b, int64_t width) const {
    return data + (time(i) * batch + b) * width;
  }
  /// Of the gates: those of a block of units stand together, at all times.
  template <typename T>
  T *gates(T *data, int64_t i, int64_t block, int64_t b) const {
    return data + ((block * times + time(i)) * batch + b) * kLstmGates;
  }
  /// Row `b` of a state before the i-th time: of those that `states` has of
  /// each time, or of the `first`.
  const float *before(const float *first, const float *states, int64_t i,
                      int64_t b) const {
    return i == 0 ? first + b * hidden : row(states, i - 1, b, hidden);
  }
  /// What a product that is `depth` deep brings near of `blocks` of `gates`.
  Prefetch prefetch(const float *gates, int64_t blocks, int64_t rows,
                    int64_t depth) const {
    return {gates, std::max<int64_t>(1, rows * kLstmGates / depth), blocks,
            times * batch * kLstmGates};
  }

  const int64_t times, batch, hidden;
  const bool reverse;
};

/// Some hidden units of some batch entries: what a thread does at a time.
struct LstmTile {
  int64_t panel, col, units; ///< which units: a panel of the packed weight
  int64_t row, rows;         ///< which batch entries
};

/// `work` on all tiles of one time, on all threads.
template <typename Work>
void forLstmTiles(const LstmSteps &layer, const PackedMatrix &weight,
                  const Work &work) {
  int64_t blocks = at::ceil_div(layer.batch, kLstmTileRows);
  forRanges(weight.panels() * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t panel = i / blocks, row = i % blocks * kLstmTileRows;
      work(LstmTile{panel, panel * weight.groupCols(), weight.panelWidth(panel),
                    row, std::min(kLstmTileRows, layer.batch - row)});
    }
  });
}

} // namespace ltc::backend
