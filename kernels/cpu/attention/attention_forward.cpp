//===- attention_forward.cpp - Softmax of scores times values -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of the scores is made, weighed and multiplied by the values while it
// is in the cache. The sums of a query are scaled where a later tile has a
// greater score: the softmax is the one of M. Milakov and N. Gimelshein,
// "Online normalizer calculation for softmax" (2018).
//
//===----------------------------------------------------------------------===//
#include "attention_tiles.h"
#include "scratch.h"
#include "threads/for_ranges.h"

#include <array>

namespace ltc::kernels {

namespace {

/// Queries that meet a pack of keys and values before the next is made.
constexpr int64_t kChunk = 256, kStride = strideOf(kTileKeys);

/// A chunk of one head's queries.
class Forward {
public:
  Forward(const Attention &of, const TensorView &output,
          const TensorView &logSums, int64_t batch, int64_t number,
          int64_t first)
      : of(of), width(of.query.size(3)), first(first),
        end(std::min(of.query.size(2), first + kChunk)),
        head(of, output, logSums, batch, number) {
    static thread_local Scratch scratch;
    int64_t forQueries = head.query.roomFor(kChunk),
            forKeys = head.key.roomFor(kTileKeys);
    Room room(scratch.reserve(Panels::roomFor(width, kTileKeys) +
                              Panels::roomFor(kTileKeys, width) +
                              kTileRows * kStride + 2 * forQueries + forKeys));
    keys = room.takePanels(width, kTileKeys);
    values = room.takePanels(kTileKeys, width);
    scores = {room.take(kTileRows * kStride), kStride};
    queries = head.query.read(first, end - first, room.take(forQueries));
    sums = head.output.begin(first, room.take(forQueries));
    widened = room.take(forKeys);
  }

  void run() {
    for (int64_t from = 0, last = keysBefore(of, end); from < last;
         from += kTileKeys) {
      int64_t count = std::min(kTileKeys, last - from);
      keys.fill(matrixOf(head.key.read(from, count, widened), count, width)
                    .transposed());
      values.fill(
          matrixOf(head.value.read(from, count, widened), count, width));
      for (int64_t row = first; row < end; row += kTileRows)
        weigh(row, std::min(kTileRows, end - row), from, count);
    }
    for (int64_t row = first; row < end; ++row) {
      const RunningSoftmax &weights = softmax[row - first];
      scaleRow(1 / weights.divisor(), width, sums.row(row - first));
      head.logSum(row) = weights.logSum();
    }
    head.output.finish(first, end - first, sums);
  }

private:
  /// Adds to some rows of the output what `count` keys give.
  void weigh(int64_t row, int64_t rows, int64_t from, int64_t count) {
    int64_t seen = std::min(count, keysBefore(of, row + rows) - from);
    if (seen <= 0)
      return;
    Rows<float> sum{sums.row(row - first), sums.stride};
    keys.multiply({queries.row(row - first), queries.stride}, rows, {0, width},
                  {0, seen}, false, scores);
    for (int64_t r = 0; r < rows; ++r) {
      int64_t its =
          std::clamp<int64_t>(keysBefore(of, row + r + 1) - from, 0, seen);
      const float *added =
          head.mask.data ? head.mask.row(row + r) + from : nullptr;
      float earlier = weighScores(of.scale, added, its, seen, scores.row(r),
                                  softmax[row + r - first]);
      if (from != 0)
        scaleRow(earlier, width, sum.row(r));
    }
    values.multiply({scores.data, scores.stride}, rows, {0, seen}, {0, width},
                    from != 0, sum);
  }

  const Attention &of;
  const int64_t width, first, end;
  const AttentionHead head;
  Rows<const float> queries{};
  Rows<float> sums{}; ///< of weights times values
  Panels keys{}, values{};
  Rows<float> scores{}; ///< a tile
  float *widened;
  std::array<RunningSoftmax, kChunk> softmax;
};

} // namespace

void attention(const Attention &of, const TensorView &output,
               const TensorView &logSums) {
  if (of.query.size(2) < kFewQueries)
    return attentionOfFew(of, output, logSums);
  int64_t heads = of.query.size(1);
  int64_t chunks = ceilDiv(of.query.size(2), kChunk);
  forRanges(of.query.size(0) * heads * chunks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      Forward(of, output, logSums, i / chunks / heads, i / chunks % heads,
              i % chunks * kChunk)
          .run();
  });
}

} // namespace ltc::kernels
