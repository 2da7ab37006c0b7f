//===- attention_backward.cpp - Gradients of attention --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scores are made again rather than kept. Tiles are by keys: they then are
// left sides of the products for key and value as they lie, and those for query
// are turned over.
//
//===----------------------------------------------------------------------===//
#include "attention_tiles.h"
#include "scratch.h"
#include "threads/for_ranges.h"

#include <array>

namespace ltc::kernels {

namespace {

/// Queries for which all keys are met before the next.
constexpr int64_t kChunk = 128;
constexpr int64_t kStrideByKeys = strideOf(kChunk),
                  kStrideByQueries = strideOf(kTileKeys);

/// One head.
class Backward {
public:
  Backward(const Attention &of, const TensorView &gradOutput,
           const TensorView &output, const TensorView &logSums, int64_t batch,
           int64_t head)
      : of(of), queries(of.query.size(2)), keys(of.key.size(2)),
        width(of.query.size(3)), query(of.query, batch, head),
        key(of.key, batch, head), value(of.value, batch, head),
        output(output, batch, head), gradOutput(gradOutput, batch, head),
        mask(maskOf(of.mask, batch, head)),
        logSums(logSums.as<float>() + batch * logSums.stride(0) +
                head * logSums.stride(1)),
        logSumStride(logSums.stride(2)) {
    static thread_local Scratch scratch;
    int64_t byRows = Panels::roomFor(kChunk, width),
            byColumns = Panels::roomFor(width, kChunk),
            forKeyRows = Panels::roomFor(kTileKeys, width),
            tile = kTileRows * kStrideByKeys,
            forQueries = query.roomFor(kChunk),
            forKeys = key.roomFor(kTileKeys), forSums = key.roomFor(keys);
    Room room(scratch.reserve(2 * byRows + 2 * byColumns + 2 * tile +
                              forKeyRows + kChunk * kStrideByQueries +
                              2 * (forQueries + forKeys + forSums)));
    queryRows = room.takePanels(kChunk, width);
    gradRows = room.takePanels(kChunk, width);
    queryColumns = room.takePanels(width, kChunk);
    gradColumns = room.takePanels(width, kChunk);
    weights = {room.take(tile), kStrideByKeys};
    gradients = {room.take(tile), kStrideByKeys};
    keyRows = room.takePanels(kTileKeys, width);
    gradScores = {room.take(kChunk * kStrideByQueries), kStrideByQueries};
    queryRoom = room.take(forQueries);
    outputRoom = room.take(forQueries);
    keyRoom = room.take(forKeys);
    valueRoom = room.take(forKeys);
    keySumRoom = room.take(forSums);
    valueSumRoom = room.take(forSums);
  }

  void run(const HeadRows &gradQuery, const HeadRows &gradKey,
           const HeadRows &gradValue) {
    Rows<float> keySums = gradKey.begin(0, keySumRoom),
                valueSums = gradValue.begin(0, valueSumRoom);
    for (first = 0; first < queries; first += kChunk) {
      count = std::min(kChunk, queries - first);
      packQueries();
      Rows<float> querySums = gradQuery.begin(first, queryRoom);
      for (int64_t from = 0, last = keysBefore(of, first + count); from < last;
           from += kTileKeys) {
        int64_t some = std::min(kTileKeys, last - from);
        someKeys = key.read(from, some, keyRoom);
        someValues = value.read(from, some, valueRoom);
        for (int64_t at = from; at < from + some; at += kTileRows)
          addKeys(at, std::min(kTileRows, from + some - at), from, keySums,
                  valueSums);
        keyRows.fill(matrixOf(someKeys, some, width));
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
    MatrixView some =
        matrixOf(query.read(first, count, queryRoom), count, width);
    queryRows.fill(some);
    queryColumns.fill(some.transposed());
    Rows<const float> grads = gradOutput.read(first, count, queryRoom),
                      outputs = output.read(first, count, outputRoom);
    MatrixView gradMatrix = matrixOf(grads, count, width);
    gradRows.fill(gradMatrix);
    gradColumns.fill(gradMatrix.transposed());
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
  void addKeys(int64_t at, int64_t rows, int64_t from, Rows<float> keySums,
               Rows<float> valueSums) {
    Span seers{firstFor(at), count};
    queryColumns.multiply({someKeys.row(at - from), someKeys.stride}, rows,
                          {0, width}, seers, false, weights);
    gradColumns.multiply({someValues.row(at - from), someValues.stride}, rows,
                         {0, width}, seers, false, gradients);
    for (int64_t r = 0; r < rows; ++r) {
      if (mask.data)
        for (int64_t i = 0; i < count; ++i)
          keyMask[i] = mask.row(first + i)[at + r];
      differentiateScores({chunkLogSums.data(), dots.data(), keyMask.data(),
                           of.scale, firstFor(at + r), count},
                          weights.row(r), gradients.row(r));
    }
    // The first chunk that sees a key has nothing to add to.
    bool adds = first > (of.causal ? at - at % kChunk : 0);
    gradRows.multiply({weights.data + seers.begin, weights.stride}, rows, seers,
                      {0, width}, adds, {valueSums.row(at), valueSums.stride});
    queryRows.multiply({gradients.data + seers.begin, gradients.stride}, rows,
                       seers, {0, width}, adds,
                       {keySums.row(at), keySums.stride});
    MatrixView byQueries{gradients.data + seers.begin, seers.size(), rows, 1,
                         gradients.stride};
    pack(byQueries, gradScores.row(seers.begin) + at - from, gradScores.stride);
  }

  /// What keys [from, from + some) give to the chunk of queries.
  void addQueries(int64_t from, int64_t some, Rows<float> querySums) {
    for (int64_t i = 0; i < count; i += kTileRows) {
      int64_t rows = std::min(kTileRows, count - i);
      int64_t seen = std::min(some, keysBefore(of, first + i + rows) - from);
      if (seen > 0)
        keyRows.multiply({gradScores.row(i), gradScores.stride}, rows,
                         {0, seen}, {0, width}, from != 0,
                         {querySums.row(i), querySums.stride});
    }
  }

  const Attention &of;
  const int64_t queries, keys, width;
  const HeadRows query, key, value, output, gradOutput;
  const Rows<const float> mask;
  const float *logSums;
  int64_t logSumStride;
  int64_t first = 0, count = 0; ///< the chunk of queries
  Rows<const float> someKeys{}, someValues{};
  Panels queryRows{}, gradRows{}, queryColumns{}, gradColumns{}, keyRows{};
  Rows<float> weights{}, gradients{}; ///< a tile by keys
  Rows<float> gradScores{}; ///< by queries, for all keys that are packed
  float *queryRoom, *outputRoom, *keyRoom, *valueRoom, *keySumRoom,
      *valueSumRoom;
  std::array<float, kChunk + kAttentionLanes> chunkLogSums{}, dots{}, keyMask{};
};

} // namespace

void attentionBackward(const Attention &of, const TensorView &gradOutput,
                       const TensorView &output, const TensorView &logSums,
                       const TensorView &gradQuery, const TensorView &gradKey,
                       const TensorView &gradValue) {
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

} // namespace ltc::kernels
