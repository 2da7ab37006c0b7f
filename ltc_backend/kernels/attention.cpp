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

/// The matrices of one tensor: row r of a head at row(r).
template <typename T> struct Head {
  T *data;
  int64_t stride;

  T *row(int64_t r) const { return data + r * stride; }
};

Head<const float> headOf(const Tensor &t, int64_t batch, int64_t head) {
  return {t.const_data_ptr<float>() + batch * t.stride(0) + head * t.stride(1),
          t.stride(2)};
}

Head<float> headOf(Tensor &t, int64_t batch, int64_t head) {
  return {t.mutable_data_ptr<float>() + batch * t.stride(0) +
              head * t.stride(1),
          t.stride(2)};
}

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

/// `count` rows from `first`, as they are or turned over.
GemmOperand rowsOf(Head<const float> from, int64_t first, int64_t count,
                   int64_t width) {
  return {from.row(first), count, width, from.stride, 1};
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
        query(headOf(of.query, batch, head)), key(headOf(of.key, batch, head)),
        value(headOf(of.value, batch, head)),
        mask(maskOf(of.mask, batch, head)), output(headOf(output, batch, head)),
        logSums(logSums.mutable_data_ptr<float>() + batch * logSums.stride(0) +
                head * logSums.stride(1)),
        logSumStride(logSums.stride(2)) {
    static thread_local Scratch scratch;
    Room room(scratch.reserve(roomFor(width, kKeys) + roomFor(kKeys, width) +
                              kRows * kStride));
    keys.data = room.take(roomFor(width, kKeys));
    values.data = room.take(roomFor(kKeys, width));
    tile = room.take(kRows * kStride);
  }

  void run() {
    for (int64_t from = 0, last = keysBefore(of, end); from < last;
         from += kKeys) {
      int64_t count = std::min(kKeys, last - from);
      keys.fill(turned(rowsOf(key, from, count, width)));
      values.fill(rowsOf(value, from, count, width));
      for (int64_t row = first; row < end; row += kRows)
        weigh(row, std::min(kRows, end - row), from, count);
    }
    for (int64_t row = first; row < end; ++row) {
      const RunningSoftmax &sums = softmax[row - first];
      scaleRow(1 / sums.divisor(), width, output.row(row));
      logSums[row * logSumStride] = sums.logSum();
    }
  }

private:
  /// Adds to some rows of the output what `count` keys give.
  void weigh(int64_t row, int64_t rows, int64_t from, int64_t count) {
    int64_t seen = std::min(count, keysBefore(of, row + rows) - from);
    if (seen <= 0)
      return;
    multiplyColumns(query.row(row), query.stride, rows, keys, 0, seen, tile,
                    kStride);
    for (int64_t r = 0; r < rows; ++r) {
      int64_t its =
          std::clamp<int64_t>(keysBefore(of, row + r + 1) - from, 0, seen);
      const float *added = mask.data ? mask.row(row + r) + from : nullptr;
      float earlier = weighScores(of.scale, added, its, seen,
                                  tile + r * kStride, softmax[row + r - first]);
      if (from != 0)
        scaleRow(earlier, width, output.row(row + r));
    }
    multiply(tile, kStride, rows, values, 0, seen, from != 0, output.row(row),
             output.stride);
  }

  const Attention &of;
  const int64_t width, first, end;
  const Head<const float> query, key, value, mask;
  const Head<float> output;
  float *logSums;
  int64_t logSumStride;
  Panels keys{}, values{};
  float *tile;
  std::array<RunningSoftmax, kQueries> softmax;
};

/// One head.
class Backward {
public:
  Backward(const Attention &of, const Tensor &gradOutput, const Tensor &output,
           const Tensor &logSums, int64_t batch, int64_t head)
      : of(of), queries(of.query.size(2)), keys(of.key.size(2)),
        width(of.query.size(3)), query(headOf(of.query, batch, head)),
        key(headOf(of.key, batch, head)), value(headOf(of.value, batch, head)),
        mask(maskOf(of.mask, batch, head)), output(headOf(output, batch, head)),
        gradOutput(headOf(gradOutput, batch, head)),
        logSums(logSums.const_data_ptr<float>() + batch * logSums.stride(0) +
                head * logSums.stride(1)),
        logSumStride(logSums.stride(2)) {
    static thread_local Scratch scratch;
    int64_t byRows = roomFor(kGradQueries, width),
            byColumns = roomFor(width, kGradQueries),
            tile = kRows * kGradStride;
    Room room(scratch.reserve(2 * byRows + 2 * byColumns + 2 * tile +
                              roomFor(kKeys, width) + kGradQueries * kStride));
    queryRows.data = room.take(byRows);
    gradRows.data = room.take(byRows);
    queryColumns.data = room.take(byColumns);
    gradColumns.data = room.take(byColumns);
    weights = room.take(tile);
    gradients = room.take(tile);
    keyRows.data = room.take(roomFor(kKeys, width));
    gradScores = room.take(kGradQueries * kStride);
  }

  void run(Head<float> gradQuery, Head<float> gradKey, Head<float> gradValue) {
    for (first = 0; first < queries; first += kGradQueries) {
      count = std::min(kGradQueries, queries - first);
      packQueries();
      for (int64_t from = 0, last = keysBefore(of, first + count); from < last;
           from += kKeys) {
        int64_t some = std::min(kKeys, last - from);
        for (int64_t at = from; at < from + some; at += kRows)
          addKeys(at, std::min(kRows, from + some - at), from, gradKey,
                  gradValue);
        keyRows.fill(rowsOf(key, from, some, width));
        addQueries(from, some, gradQuery);
      }
    }
    for (int64_t k = keysBefore(of, queries); k < keys; ++k) {
      std::fill_n(gradKey.row(k), width, 0.0f);
      std::fill_n(gradValue.row(k), width, 0.0f);
    }
  }

private:
  void packQueries() {
    GemmOperand some = rowsOf(query, first, count, width),
                grads = rowsOf(gradOutput, first, count, width);
    queryRows.fill(some);
    gradRows.fill(grads);
    queryColumns.fill(turned(some));
    gradColumns.fill(turned(grads));
    for (int64_t i = 0; i < count; ++i) {
      chunkLogSums[i] = logSums[(first + i) * logSumStride];
      dots[i] =
          dotProduct(width, gradOutput.row(first + i), output.row(first + i));
    }
  }

  /// The first query of the chunk that sees a key.
  int64_t firstFor(int64_t at) const {
    return of.causal ? std::clamp<int64_t>(at - first, 0, count) : 0;
  }

  /// What the chunk of queries gives to keys and values [at, at + rows).
  void addKeys(int64_t at, int64_t rows, int64_t from, Head<float> gradKey,
               Head<float> gradValue) {
    int64_t begin = firstFor(at), depth = count - begin;
    multiplyColumns(key.row(at), key.stride, rows, queryColumns, begin, count,
                    weights, kGradStride);
    multiplyColumns(value.row(at), value.stride, rows, gradColumns, begin,
                    count, gradients, kGradStride);
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
             gradValue.row(at), gradValue.stride);
    multiply(gradients + begin, kGradStride, rows, queryRows, begin, depth,
             adds, gradKey.row(at), gradKey.stride);
    GemmOperand byQueries{gradients + begin, depth, rows, 1, kGradStride};
    pack(byQueries, 0, 0, depth, rows, gradScores + begin * kStride + at - from,
         kStride);
  }

  /// What keys [from, from + some) give to the chunk of queries.
  void addQueries(int64_t from, int64_t some, Head<float> gradQuery) {
    for (int64_t i = 0; i < count; i += kRows) {
      int64_t rows = std::min(kRows, count - i), row = first + i;
      int64_t seen = std::min(some, keysBefore(of, row + rows) - from);
      if (seen > 0)
        multiply(gradScores + i * kStride, kStride, rows, keyRows, 0, seen,
                 from != 0, gradQuery.row(row), gradQuery.stride);
    }
  }

  const Attention &of;
  const int64_t queries, keys, width;
  const Head<const float> query, key, value, mask, output, gradOutput;
  const float *logSums;
  int64_t logSumStride;
  int64_t first = 0, count = 0; ///< the chunk of queries
  Panels queryRows{}, gradRows{}, queryColumns{}, gradColumns{}, keyRows{};
  float *weights, *gradients; ///< a tile by keys
  float *gradScores;          ///< by queries, for all keys that are packed
  std::array<float, kGradQueries + kAttentionLanes> chunkLogSums{}, dots{},
      keyMask{};
};

bool isRegular(const Tensor &t, const Tensor &like) {
  return t.dim() == 4 && t.scalar_type() == at::kFloat && t.stride(3) == 1 &&
         t.stride(2) >= t.size(3) && t.size(0) == like.size(0) &&
         t.size(1) == like.size(1) && t.size(3) == like.size(3);
}

bool isMask(const Tensor &t, const Tensor &query, const Tensor &key) {
  if (!t.defined())
    return true;
  const std::array<int64_t, 4> whole = {query.size(0), query.size(1),
                                        query.size(2), key.size(2)};
  for (int64_t dim = 0; dim < 3; ++dim)
    if (t.dim() != 4 || (t.size(dim) != 1 && t.size(dim) != whole[dim]))
      return false;
  return t.scalar_type() == at::kFloat && t.size(3) == whole[3] &&
         t.stride(3) == 1;
}

} // namespace

bool attentionPays(const Tensor &query, const Tensor &key, const Tensor &value,
                   const Tensor &mask) {
  // Of shorter ones, and narrower heads, the calls are what takes the time.
  constexpr int64_t kLeast = 32, kWidest = 256;
  return blockKernelPays() && query.dim() == 4 && isRegular(query, query) &&
         isRegular(key, query) && isRegular(value, query) &&
         key.size(2) == value.size(2) && query.size(2) >= kLeast &&
         key.size(2) >= kLeast && query.size(3) >= kAttentionLanes &&
         query.size(3) <= kWidest && isMask(mask, query, key);
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
          .run(headOf(gradQuery, batch, head), headOf(gradKey, batch, head),
               headOf(gradValue, batch, head));
    }
  });
}

} // namespace ltc::backend
