//===- attention_few.cpp - A few queries at a time ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As when a text is written a letter at a time. Keys and values are read once,
// where they lie: to pack them would take longer than the sums.
//
//===----------------------------------------------------------------------===//
#include "attention_tiles.h"
#include "scratch.h"
#include "threads/for_ranges.h"

#include <array>
#include <cstring>

namespace ltc::kernels {

namespace {

/// Keys that all queries meet before the next are read.
constexpr int64_t kKeys = 512;

class FewQueries {
public:
  FewQueries(const Attention &of, const TensorView &output,
             const TensorView &logSums, int64_t batch, int64_t number)
      : of(of), count(of.query.size(2)), width(of.query.size(3)),
        head(of, output, logSums, batch, number) {
    static thread_local Scratch scratch;
    int64_t forQueries = head.query.roomFor(count),
            forKeys = head.key.roomFor(kKeys);
    Room room(scratch.reserve(kKeys + 2 * forQueries + 2 * forKeys));
    scores = room.take(kKeys);
    queries = head.query.read(0, count, room.take(forQueries));
    sums = head.output.begin(0, room.take(forQueries));
    forKey = room.take(forKeys);
    forValue = room.take(forKeys);
  }

  void run() {
    for (int64_t q = 0; q < count; ++q)
      std::memset(sums.row(q), 0, width * sizeof(float));
    for (int64_t from = 0, last = keysBefore(of, count); from < last;
         from += kKeys)
      meet(from, std::min(kKeys, last - from));
    for (int64_t q = 0; q < count; ++q) {
      scaleRow(1 / softmax[q].divisor(), width, sums.row(q));
      head.logSum(q) = softmax[q].logSum();
    }
    head.output.finish(0, count, sums);
  }

private:
  void meet(int64_t from, int64_t some) {
    Rows<const float> keys = head.key.read(from, some, forKey),
                      values = head.value.read(from, some, forValue);
    for (int64_t q = 0; q < count; ++q) {
      int64_t seen = std::clamp<int64_t>(keysBefore(of, q + 1) - from, 0, some);
      if (seen == 0)
        continue;
      multiplyRows(keys, seen, width, queries.row(q), scores);
      const float *added = head.mask.data ? head.mask.row(q) + from : nullptr;
      float earlier =
          weighScores(of.scale, added, seen, seen, scores, softmax[q]);
      if (from != 0)
        scaleRow(earlier, width, sums.row(q));
      addRows(values, seen, width, scores, sums.row(q));
    }
  }

  const Attention &of;
  const int64_t count, width;
  const AttentionHead head;
  float *scores; ///< of one query
  Rows<const float> queries{};
  Rows<float> sums{}; ///< of weights times values
  float *forKey, *forValue;
  std::array<RunningSoftmax, kFewQueries> softmax;
};

} // namespace

void attentionOfFew(const Attention &of, const TensorView &output,
                    const TensorView &logSums) {
  int64_t heads = of.query.size(1);
  forRanges(of.query.size(0) * heads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      FewQueries(of, output, logSums, i / heads, i % heads).run();
  });
}

} // namespace ltc::kernels
