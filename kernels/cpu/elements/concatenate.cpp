//===- concatenate.cpp - cat() of tensors in one piece ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "rows.h"
#include "threads/for_ranges.h"

#include <cstring>

namespace ltc::kernels {
namespace {

constexpr int64_t kFewestBytes = 1 << 16; // that another thread is worth

/// What one part puts next to each other in the whole, again and again.
struct Run {
  const char *from;
  int64_t bytes, offset;
};

class Concatenation final : public OwnKernel {
public:
  explicit Concatenation(const Arguments &of)
      : parts(of.tensors("tensors")), dim(of.integer("dim")) {}

  /// Not of tensors that are not contiguous, or not of one dtype and rank.
  bool run(Views operands, Views results) override {
    const TensorView &whole = results[0];
    if (whole.rank == 0 || whole.elements() == 0 || !whole.isDense())
      return false;
    auto fits = [&](const TensorView &part) {
      return part.rank == whole.rank && part.dtype == whole.dtype &&
             part.isDense();
    };
    int64_t unit = int64_t(byteSize(whole.dtype)); // of a step along `dim`
    size_t along = size_t(dim < 0 ? dim + whole.rank : dim);
    unit *= elementsOf(whole.shape().subspan(along + 1));
    int64_t length = whole.size(along) * unit, end = 0;
    runs.clear();
    for (Operand operand : parts) {
      TensorView part = operand.in(operands);
      if (!fits(part))
        return false;
      int64_t bytes = part.size(along) * unit;
      runs.push_back({part.as<char>(), bytes, end});
      end += bytes;
    }
    copyAll(whole.as<char>(), length,
            elementsOf(whole.shape().subspan(0, along)));
    return true;
  }

private:
  void copyAll(char *to, int64_t length, int64_t copies) const {
    auto count = int64_t(runs.size());
    auto copy = [&](int64_t begin, int64_t last) {
      for (int64_t at = begin; at < last; ++at) {
        const Run &run = runs[at % count];
        int64_t row = at / count;
        std::memcpy(to + row * length + run.offset, run.from + row * run.bytes,
                    run.bytes);
      }
    };
    if (copies * length < kFewestBytes)
      copy(0, copies * count);
    else
      forRanges(copies * count, copy);
  }

  const std::vector<Operand> parts;
  const int64_t dim;
  std::vector<Run> runs;
};

} // namespace

std::unique_ptr<OwnKernel> bindConcatenation(const Graph &call) {
  return bindAs<Concatenation>(call);
}

} // namespace ltc::kernels
