//===- plain_attention.cpp - Attention by plain loops ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "attention/plain_attention.h"

#include "threads/for_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ltc::kernels {
namespace {

template <typename T> class Plain {
public:
  Plain(const Attention &of, const TensorView &output,
        const TensorView &logSums)
      : of(of), output(output), logSums(logSums), heads(of.query.size(1)),
        queries(of.query.size(2)), keys(of.key.size(2)) {}

  void run() const {
    forRanges(of.query.size(0) * heads * queries, [this](int64_t begin,
                                                         int64_t end) {
      std::vector<double> scores(keys);
      for (int64_t i = begin; i < end; ++i)
        attend(i / queries / heads, i / queries % heads, i % queries, scores);
    });
  }

private:
  /// The row of a tensor (batch, heads, length, width); of one that broadcasts.
  static T *row(const TensorView &t, int64_t batch, int64_t head, int64_t at) {
    auto step = [&](int64_t dim, int64_t place) {
      return t.size(dim) == 1 ? 0 : place * t.stride(dim);
    };
    return t.as<T>() + step(0, batch) + step(1, head) + step(2, at);
  }

  void attend(int64_t batch, int64_t head, int64_t query,
              std::vector<double> &scores) const {
    const T *q = row(of.query, batch, head, query);
    // Queries of several heads may share one of keys.
    int64_t shared = head * of.key.size(1) / heads;
    constexpr double least = -std::numeric_limits<double>::infinity();
    double highest = least;
    for (int64_t k = 0; k < keys; ++k) {
      double score = 0;
      const T *key = row(of.key, batch, shared, k);
      for (int64_t d = 0; d < of.query.size(3); ++d)
        score += double(q[d * of.query.stride(3)]) *
                 double(key[d * of.key.stride(3)]);
      score *= double(of.scale);
      if (of.mask.isDefined())
        score += double(row(of.mask, batch, head, query)[k * maskStep()]);
      if (of.causal && k > query)
        score = least;
      scores[k] = score;
      highest = std::max(highest, score);
    }
    // A query that sees nothing gets zeros, as from ATen.
    double base = highest == least ? 0 : highest, sum = 0;
    for (double &score : scores)
      sum += score = std::exp(score - base);
    T *to = row(output, batch, head, query);
    for (int64_t d = 0; d < of.value.size(3); ++d) {
      double total = 0;
      for (int64_t k = 0; k < keys; ++k)
        total += scores[k] * double(row(of.value, batch, shared,
                                        k)[d * of.value.stride(3)]);
      to[d * output.stride(3)] = T(sum == 0 ? 0 : total / sum);
    }
    if (logSums.isDefined())
      logSums.as<T>()[batch * logSums.stride(0) + head * logSums.stride(1) +
                      query * logSums.stride(2)] = T(base + std::log(sum));
  }
  int64_t maskStep() const {
    return of.mask.size(3) == 1 ? 0 : of.mask.stride(3);
  }

  const Attention &of;
  const TensorView &output, &logSums;
  const int64_t heads, queries, keys;
};

} // namespace

bool plainAttention(const Attention &of, const TensorView &output,
                    const TensorView &logSums) {
  bool isPlain = of.query.rank == 4 && of.key.dtype == of.query.dtype &&
                 (!of.mask.isDefined() ||
                  (of.mask.rank == 4 && of.mask.dtype == of.query.dtype));
  if (!isPlain)
    return false;
  if (of.query.dtype == DType::F32)
    Plain<float>(of, output, logSums).run();
  else if (of.query.dtype == DType::F64)
    Plain<double>(of, output, logSums).run();
  else
    return false;
  return true;
}

} // namespace ltc::kernels
