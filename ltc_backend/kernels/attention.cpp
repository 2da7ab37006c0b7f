//===- kernels/attention.cpp - Attention around oneDNN's kernel -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of the scores is made, weighed and multiplied by the values while it
// is in the cache. The backward makes tiles by keys: they then are left sides
// of the products for key and value as they lie, and those for query are turned
// over.
//
//===----------------------------------------------------------------------===//
#include "attention.h"

#include "attention_heads.h"
#include "attention_rows.h"
#include "for_ranges.h"
#include "pack.h"
#include "scratch.h"

#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ltc::backend {
using at::Tensor;

namespace {

constexpr int64_t kPanel = PackedMatrix::kCols;
/// Of a tile, and for how many keys and queries operands are packed at a time.
constexpr int64_t kRows = 32, kKeys = 512, kQueries = 256, kGradQueries = 128;
/// Rows of a tile begin in different sets of the first-level cache.
constexpr int64_t kStride = kKeys + kAttentionLanes,
                  kGradStride = kGradQueries + kAttentionLanes;

/// The mask of one head: row(q)[k], or that of a query for all of them.
Head<const float> maskOf(const Tensor &t, int64_t batch, int64_t head) {
  if (!t.defined())
    return {nullptr, 0};
  auto step = [&](int64_t dim) { return t.size(dim) == 1 ? 0 : t.stride(dim); };
  return {t.const_data_ptr<float>() + batch * step(0) + head * step(1),
          step(2)};
}

/// The right side of products, in panels of kPanel columns.
struct Panels {
  float *data;
  int64_t inner, cols;

  int64_t count() const { return (cols + kPanel - 1) / kPanel; }
  int64_t width(int64_t panel) const {
    return std::min(kPanel, cols - panel * kPanel);
  }
  float *at(int64_t panel, int64_t row) const {
    return data + (panel * inner + row) * kPanel;
  }
  void fill(const GemmOperand &from) {
    inner = from.rows;
    cols = from.cols;
    for (int64_t p = 0; p < count(); ++p)
      pack(from, 0, p * kPanel, inner, width(p), at(p, 0), kPanel);
  }
};

/// The first `count` rows, as they are or turned over.
GemmOperand rowsOf(Head<const float> from, int64_t count, int64_t width) {
  return {from.data, count, width, from.stride, 1};
}
GemmOperand turned(const GemmOperand &from) {
  return {from.data, from.cols, from.rows, from.colStride, from.rowStride};
}

/// c = a b, or c += a b, for `depth` rows of `b` from `row` and all columns.
void multiply(const float *a, int64_t aStride, int64_t rows, const Panels &b,
              int64_t row, int64_t depth, bool adds, float *c,
              int64_t cStride) {
  for (int64_t p = 0; p < b.count(); ++p)
    at::native::cpublas::brgemm(rows, b.width(p), depth, aStride, kPanel,
                                cStride, adds, a, b.at(p, row), c + p * kPanel);
}

/// c = a b for columns [begin, end) of `b`, which are those of `c` too.
void multiplyColumns(const float *a, int64_t aStride, int64_t rows,
                     const Panels &b, int64_t begin, int64_t end, float *c,
                     int64_t cStride) {
  for (int64_t col = begin; col < end;) {
    int64_t p = col / kPanel, next = std::min(end, (p + 1) * kPanel);
    at::native::cpublas::brgemm(rows, next - col, b.inner, aStride, kPanel,
                                cStride, false, a, b.at(p, 0) + col % kPanel,
                                c + col);
    col = next;
  }
}

/// Room for panels of `inner` x `cols`.
int64_t roomFor(int64_t inner, int64_t cols) {
  return inner * ((cols + kPanel - 1) / kPanel * kPanel);
}

/// Hands out pieces of a thread's scratch.
class Room {
public:
  explicit Room(float *data) : data(data) {}
  float *take(int64_t count) { return std::exchange(data, data + count); }

private:
  float *data;
};

/// The numbers of keys that the queries before `end` see.
int64_t keysBefore(const Attention &of, int64_t end) {
  int64_t keys = of.key.size(2);
  return of.causal ? std::min(end, keys) : keys;
}

/// A chunk of one head's queries.
class Forward {
public:
  Forward(const Attention &of, Tensor &output, Tensor &logSums, int64_t batch,
          int64_t head, int64_t first)
      : of(of), width(of.query.size(3)), first(first),
        end(std::min(of.query.size(2), first + kQueries)),
        key(of.key, batch, head), value(of.value, batch, head),
        output(output, batch, head), mask(maskOf(of.mask, batch, head)),
        logSums(logSums.mutable_data_ptr<float>() + batch * logSums.stride(0) +
                head * logSums.stride(1)),
        logSumStride(logSums.stride(2)) {
    static thread_local Scratch scratch;
    HeadRows query(of.query, batch, head);
    int64_t forQueries = query.roomFor(kQueries), forKeys = key.roomFor(kKeys);
    Room room(scratch.reserve(roomFor(width, kKeys) + roomFor(kKeys, width) +
                              kRows * kStride + 2 * forQueries + forKeys));
    keys.data = room.take(roomFor(width, kKeys));
    values.data = room.take(roomFor(kKeys, width));
    tile = room.take(kRows * kStride);
    queries = query.read(first, end - first, room.take(forQueries));
    sums = this->output.begin(first, room.take(forQueries));
    widened = room.take(forKeys);
  }

  void run() {
    for (int64_t from = 0, last = keysBefore(of, end); from < last;
         from += kKeys) {
      int64_t count = std::min(kKeys, last - from);
      keys.fill(turned(rowsOf(key.read(from, count, widened), count, width)));
      values.fill(rowsOf(value.read(from, count, widened), count, width));
      for (int64_t row = first; row < end; row += kRows)
        weigh(row, std::min(kRows, end - row), from, count);
    }
    for (int64_t row = first; row < end; ++row) {
      const RunningSoftmax &weights = softmax[row - first];
      scaleRow(1 / weights.divisor(), width, sums.row(row - first));
      logSums[row * logSumStride] = weights.logSum();
    }
    output.finish(first, end - first, sums);
  }

private:
  /// Adds to some rows of the output what `count` keys give.
  void weigh(int64_t row, int64_t rows, int64_t from, int64_t count) {
    int64_t seen = std::min(count, keysBefore(of, row + rows) - from);
    if (seen <= 0)
      return;
    Head<const float> some{queries.row(row - first), queries.stride};
    Head<float> sum{sums.row(row - first), sums.stride};
    multiplyColumns(some.data, some.stride, rows, keys, 0, seen, tile, kStride);
    for (int64_t r = 0; r < rows; ++r) {
      int64_t its =
          std::clamp<int64_t>(keysBefore(of, row + r + 1) - from, 0, seen);
      const float *added = mask.data ? mask.row(row + r) + from : nullptr;
      float earlier = weighScores(of.scale, added, its, seen,
                                  tile + r * kStride, softmax[row + r - first]);
      if (from != 0)
        scaleRow(earlier, width, sum.row(r));
    }
    multiply(tile, kStride, rows, values, 0, seen, from != 0, sum.data,
             sum.stride);
  }

  const Attention &of;
  const int64_t width, first, end;
  const HeadRows key, value, output;
  const Head<const float> mask;
  float *logSums;
  int64_t logSumStride;
  Head<const float> queries{};
  Head<float> sums{}; ///< of weights times values
  Panels keys{}, values{};
  float *tile, *widened;
  std::array<RunningSoftmax, kQueries> softmax;
};

/// One head.
class Backward {
public:
  Backward(const Attention &of, const Tensor &gradOutput, const Tensor &output,
           const Tensor &logSums, int64_t batch, int64_t head)
      : of(of), queries(of.query.size(2)), keys(of.key.size(2)),
        width(of.query.size(3)), query(of.query, batch, head),
        key(of.key, batch, head), value(of.value, batch, head),
        output(output, batch, head), gradOutput(gradOutput, batch, head),
        mask(maskOf(of.mask, batch, head)),
        logSums(logSums.const_data_ptr<float>() + batch * logSums.stride(0) +
                head * logSums.stride(1)),
        logSumStride(logSums.stride(2)) {
    static thread_local Scratch scratch;
    int64_t byRows = roomFor(kGradQueries, width),
            byColumns = roomFor(width, kGradQueries),
            tile = kRows * kGradStride,
            forQueries = query.roomFor(kGradQueries),
            forKeys = key.roomFor(kKeys), forSums = key.roomFor(keys);
    Room room(scratch.reserve(2 * byRows + 2 * byColumns + 2 * tile +
                              roomFor(kKeys, width) + kGradQueries * kStride +
                              2 * (forQueries + forKeys + forSums)));
    queryRows.data = room.take(byRows);
    gradRows.data = room.take(byRows);
    queryColumns.data = room.take(byColumns);
    gradColumns.data = room.take(byColumns);
    weights = room.take(tile);
    gradients = room.take(tile);
    keyRows.data = room.take(roomFor(kKeys, width));
    gradScores = room.take(kGradQueries * kStride);
    queryRoom = room.take(forQueries);
    outputRoom = room.take(forQueries);
    keyRoom = room.take(forKeys);
    valueRoom = room.take(forKeys);
    keySumRoom = room.take(forSums);
    valueSumRoom = room.take(forSums);
  }

  void run(const HeadRows &gradQuery, const HeadRows &gradKey,
           const HeadRows &gradValue) {
    Head<float> keySums = gradKey.begin(0, keySumRoom),
                valueSums = gradValue.begin(0, valueSumRoom);
    for (first = 0; first < queries; first += kGradQueries) {
      count = std::min(kGradQueries, queries - first);
      packQueries();
      Head<float> querySums = gradQuery.begin(first, queryRoom);
      for (int64_t from = 0, last = keysBefore(of, first + count); from < last;
           from += kKeys) {
        int64_t some = std::min(kKeys, last - from);
        someKeys = key.read(from, some, keyRoom);
        someValues = value.read(from, some, valueRoom);
        for (int64_t at = from; at < from + some; at += kRows)
          addKeys(at, std::min(kRows, from + some - at), from, keySums,
                  valueSums);
        keyRows.fill(rowsOf(someKeys, some, width));
        addQueries(from, some, querySums);
      }
      gradQuery.finish(first, count, querySums);
    }
    for (int64_t k = keysBefore(of, queries); k < keys; ++k) {
      std::fill_n(keySums.row(k), width, 0.0f);
      std::fill_n(valueSums.row(k), width, 0.0f);
    }
    gradKey.finish(0, keys, keySums);
    gradValue.finish(0, keys, valueSums);
  }

private:
  void packQueries() {
    GemmOperand some =
        rowsOf(query.read(first, count, queryRoom), count, width);
    queryRows.fill(some);
    queryColumns.fill(turned(some));
    Head<const float> grads = gradOutput.read(first, count, queryRoom),
                      outputs = output.read(first, count, outputRoom);
    gradRows.fill(rowsOf(grads, count, width));
    gradColumns.fill(turned(rowsOf(grads, count, width)));
    for (int64_t i = 0; i < count; ++i) {
      chunkLogSums[i] = logSums[(first + i) * logSumStride];
      dots[i] = dotProduct(width, grads.row(i), outputs.row(i));
    }
  }

  /// The first query of the chunk that sees a key.
  int64_t firstFor(int64_t at) const {
    return of.causal ? std::clamp<int64_t>(at - first, 0, count) : 0;
  }

  /// What the chunk of queries gives to keys and values [at, at + rows).
  void addKeys(int64_t at, int64_t rows, int64_t from, Head<float> keySums,
               Head<float> valueSums) {
    int64_t begin = firstFor(at), depth = count - begin;
    multiplyColumns(someKeys.row(at - from), someKeys.stride, rows,
                    queryColumns, begin, count, weights, kGradStride);
    multiplyColumns(someValues.row(at - from), someValues.stride, rows,
                    gradColumns, begin, count, gradients, kGradStride);
    for (int64_t r = 0; r < rows; ++r) {
      if (mask.data)
        for (int64_t i = 0; i < count; ++i)
          keyMask[i] = mask.row(first + i)[at + r];
      differentiateScores({chunkLogSums.data(), dots.data(), keyMask.data(),
                           of.scale, firstFor(at + r), count},
                          weights + r * kGradStride,
                          gradients + r * kGradStride);
    }
    bool adds = of.causal ? first > at - at % kGradQueries : first != 0;
    multiply(weights + begin, kGradStride, rows, gradRows, begin, depth, adds,
             valueSums.row(at), valueSums.stride);
    multiply(gradients + begin, kGradStride, rows, queryRows, begin, depth,
             adds, keySums.row(at), keySums.stride);
    GemmOperand byQueries{gradients + begin, depth, rows, 1, kGradStride};
    pack(byQueries, 0, 0, depth, rows, gradScores + begin * kStride + at - from,
         kStride);
  }

  /// What keys [from, from + some) give to the chunk of queries.
  void addQueries(int64_t from, int64_t some, Head<float> querySums) {
    for (int64_t i = 0; i < count; i += kRows) {
      int64_t rows = std::min(kRows, count - i);
      int64_t seen = std::min(some, keysBefore(of, first + i + rows) - from);
      if (seen > 0)
        multiply(gradScores + i * kStride, kStride, rows, keyRows, 0, seen,
                 from != 0, querySums.row(i), querySums.stride);
    }
  }

  const Attention &of;
  const int64_t queries, keys, width;
  const HeadRows query, key, value, output, gradOutput;
  const Head<const float> mask;
  const float *logSums;
  int64_t logSumStride;
  int64_t first = 0, count = 0; ///< the chunk of queries
  Head<const float> someKeys{}, someValues{};
  Panels queryRows{}, gradRows{}, queryColumns{}, gradColumns{}, keyRows{};
  float *weights, *gradients; ///< a tile by keys
  float *gradScores;          ///< by queries, for all keys that are packed
  float *queryRoom, *outputRoom, *keyRoom, *valueRoom, *keySumRoom,
      *valueSumRoom;
  std::array<float, kGradQueries + kAttentionLanes> chunkLogSums{}, dots{},
      keyMask{};
};

bool isRegular(const Tensor &t, const Tensor &like) {
  return t.dim() == 4 && t.scalar_type() == like.scalar_type() &&
         t.stride(3) == 1 && t.stride(2) >= t.size(3) &&
         t.size(0) == like.size(0) && t.size(1) == like.size(1) &&
         t.size(3) == like.size(3);
}

bool isMask(const Tensor &t, const Tensor &query, const Tensor &key) {
  if (!t.defined())
    return true;
  const std::array<int64_t, 4> whole = {query.size(0), query.size(1),
                                        query.size(2), key.size(2)};
  for (int64_t dim = 0; dim < 3; ++dim)
    if (t.dim() != 4 || (t.size(dim) != 1 && t.size(dim) != whole[dim]))
      return false;
  return t.scalar_type() == query.scalar_type() && t.size(3) == whole[3] &&
         t.stride(3) == 1;
}

} // namespace

bool attentionPays(const Tensor &query, const Tensor &key, const Tensor &value,
                   const Tensor &mask) {
  // Of shorter ones, and narrower heads, the calls are what takes the time.
  constexpr int64_t kLeast = 32, kWidest = 256;
  at::ScalarType type = query.scalar_type();
  return blockKernelPays() && (type == at::kFloat || type == at::kBFloat16) &&
         query.dim() == 4 && isRegular(query, query) && isRegular(key, query) &&
         isRegular(value, query) && key.size(2) == value.size(2) &&
         query.size(2) >= kLeast && key.size(2) >= kLeast &&
         query.size(3) >= kAttentionLanes && query.size(3) <= kWidest &&
         isMask(mask, query, key);
}

void attention(const Attention &of, Tensor &output, Tensor &logSums) {
  int64_t heads = of.query.size(1);
  int64_t chunks = (of.query.size(2) + kQueries - 1) / kQueries;
  forRanges(of.query.size(0) * heads * chunks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      Forward(of, output, logSums, i / chunks / heads, i / chunks % heads,
              i % chunks * kQueries)
          .run();
  });
}

void attentionBackward(const Attention &of, const Tensor &gradOutput,
                       const Tensor &output, const Tensor &logSums,
                       Tensor &gradQuery, Tensor &gradKey, Tensor &gradValue) {
  int64_t heads = of.query.size(1);
  forRanges(of.query.size(0) * heads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t batch = i / heads, head = i % heads;
      Backward(of, gradOutput, output, logSums, batch, head)
          .run({gradQuery, batch, head}, {gradKey, batch, head},
               {gradValue, batch, head});
    }
  });
}

} // namespace ltc::backend
