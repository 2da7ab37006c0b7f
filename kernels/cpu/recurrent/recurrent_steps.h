//===- recurrent_steps.h - A recurrence, cut into tiles ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tensor_view.h"

#include "product/packed_matrix.h"
#include "threads/for_ranges.h"

#include <algorithm>
#include <vector>

namespace ltc::kernels {

/// Batch entries of a tile: more tiles than panels alone give many threads
/// work, and the gates of one stay in the cache.
inline constexpr int64_t kTileRows = 32;

/// The order in which one direction of a layer meets its times, and where the
/// rows of each stand.
class RecurrentSteps {
public:
  /// Of `output` (T, B, H), or (R, H) where `batchSizes` (T), int64 and not
  /// rising, says how many of the R rows the first time has, and so on.
  RecurrentSteps(const TensorView &output, const TensorView &batchSizes,
                 bool reverse);

  /// Batch entries at the i-th time in the order of the recurrence, and how
  /// many of them have a time before it in that order.
  int64_t batch(int64_t i) const {
    return offsets[time(i) + 1] - offsets[time(i)];
  }
  int64_t continued(int64_t i) const {
    return i == 0 || i == times ? 0 : std::min(batch(i - 1), batch(i));
  }
  /// The place of the i-th time's first row among all.
  int64_t place(int64_t i) const { return offsets[time(i)]; }

  /// Row `b` at the i-th time of a tensor of `width` floats a row.
  template <typename T>
  T *row(T *data, int64_t i, int64_t b, int64_t width) const {
    return data + (place(i) + b) * width;
  }
  /// Row `b` of a state before the i-th time: of those that `states` has of
  /// each time, or of the `first`.
  const float *before(const float *first, const float *states, int64_t i,
                      int64_t b) const {
    return b < continued(i) ? row(states, i - 1, b, hidden)
                            : first + b * hidden;
  }
  /// That of each row of a tensor, in its order.
  std::vector<const float *> allBefore(const float *first,
                                       const float *states) const;

private:
  int64_t time(int64_t i) const { return reverse ? times - 1 - i : i; }

  std::vector<int64_t> offsets; ///< of each time's first row, and their end

public:
  const int64_t times, rows, hidden;
  const bool isPacked, reverse;
};

/// Some hidden units of some batch entries: what a thread does at a time.
struct RecurrentTile {
  int64_t panel, col, units; ///< which units: a panel of the packed weight
  int64_t row, rows;         ///< which batch entries
};

/// `work` on tiles of the batch entries from `begin` to `end`, none of which
/// has entries from both sides of `cut`, on all threads.
template <typename Work>
void forTiles(const PackedMatrix &weight, int64_t begin, int64_t cut,
              int64_t end, const Work &work) {
  int64_t first = ceilDiv(cut - begin, kTileRows);
  int64_t blocks = first + ceilDiv(end - cut, kTileRows);
  forRanges(weight.panels() * blocks, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      int64_t panel = i / blocks, block = i % blocks;
      bool isBelow = block < first;
      int64_t row = isBelow ? begin + block * kTileRows
                            : cut + (block - first) * kTileRows;
      work(RecurrentTile{panel, panel * weight.groupCols(),
                         weight.panelWidth(panel), row,
                         std::min(kTileRows, (isBelow ? cut : end) - row)});
    }
  });
}

/// On all of the i-th time, where none has entries both with and without a time
/// before.
template <typename Work>
void forTiles(const RecurrentSteps &layer, int64_t i,
              const PackedMatrix &weight, const Work &work) {
  forTiles(weight, 0, layer.continued(i), layer.batch(i), work);
}

/// As above, for backward: where none has entries both with and without a time
/// after either. (Entries begin in one direction, and end in the other.)
template <typename Work>
void forTilesBackward(const RecurrentSteps &layer, int64_t i,
                      const PackedMatrix &weight, const Work &work) {
  int64_t cut = layer.reverse ? layer.continued(i) : layer.continued(i + 1);
  forTiles(weight, 0, cut, layer.batch(i), work);
}

/// On those that begin at the i-th time.
template <typename Work>
void forTilesThatBegin(const RecurrentSteps &layer, int64_t i,
                       const PackedMatrix &weight, const Work &work) {
  int64_t begin = layer.continued(i);
  forTiles(weight, begin, begin, layer.batch(i), work);
}

} // namespace ltc::kernels
