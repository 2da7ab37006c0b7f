//===- gemm.cpp - Matrix products around oneDNN's kernel ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of the loops, from the outside, and with the names of the paper
// in gemm.h:
//
//   a pass: kPassCols columns (n_c) and passDepth() (k_c) of the inner
//   dimension;
//           `b` is packed for it into panels of kPanelCols columns (n_r)
//   a block: kBlockRows rows (m_c) of the pass, times some of its panels
//   a kernel: such a block and one panel, which the processor's caches hold
//
// Rows of `a` are read by oneDNN's kernel where they lie. A block whose columns
// are dense is copied, and multiplied by multiplyBlock(). Products of few rows
// are few_rows.cpp's.
//
//===----------------------------------------------------------------------===//
#include "gemm.h"

#include "block_product.h"
#include "few_rows.h"
#include "pack.h"
#include "packing_habit.h"
#include "scratch.h"
#include "threads/for_ranges.h"
#include "vectors.h"

namespace ltc::kernels {
namespace {

// A block of `a` (64 x 1024 floats) and a panel of `b` (1024 x 64) share a
// second-level cache: 1 MiB, or half of that where there is no AVX-512, and
// then 512 deep takes 0.95 of the time. All panels of a pass are at most 8 MiB.
constexpr int64_t kBlockRows = 64, kPassDepth = 1024, kPassCols = 2048;
int64_t passDepth() { return hasWideVectors() ? kPassDepth : kPassDepth / 2; }
/// Of a block of `a` that lies by columns, what the first-level cache can hold
/// of it while a panel passes.
constexpr int64_t kColumnDepth = 256;

/// One pass, of which `a` and `b` have only the inner dimension's part.
class Pass {
public:
  /// `accumulate`: `c` has something that the product is added to. The addend
  /// has null data in all passes but the last over the same columns.
  Pass(const MatrixView &a, const MatrixView &b, const MatrixView &addend,
       bool accumulate, Rows<float> c)
      : a(a), b(b), addend(addend), accumulate(accumulate), c(c) {}

  void run() {
    static thread_local Scratch scratch;
    panels = {scratch.reserve(Panels::roomFor(b.rows, b.cols)), b.rows, b.cols};
    packPanels();
    // Few blocks are split further, or threads would go without.
    constexpr int64_t kTasks = 32;
    int64_t blocks = ceilDiv(a.rows, kBlockRows);
    groups = std::clamp<int64_t>(kTasks / blocks, 1, panels.count());
    forRanges(blocks * groups, [this](int64_t begin, int64_t end) {
      multiplyTasks(begin, end);
    });
  }

private:
  void packPanels() {
    static thread_local PackingHabit habit;
    int64_t threads = std::min<int64_t>(loopThreads(), panels.count());
    bool isShared = threads > 1 && hasVectors();
    bool streams = isShared && habit.streams();
    auto start = PackingHabit::Clock::now();
    forRanges(panels.count(), [=, this](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        if (streams)
          panels.stream(b, p);
        else
          panels.pack(b, p);
    });
    if (isShared && !streams)
      habit.packed(panels.lines() / threads,
                   PackingHabit::Clock::now() - start);
  }

  /// A block's tasks at once: it is copied for all of them.
  void multiplyTasks(int64_t begin, int64_t end) {
    for (int64_t task = begin, next; task < end; task = next) {
      int64_t block = task / groups, first = block * groups;
      next = std::min(end, first + groups);
      multiply(block * kBlockRows,
               {(task - first) * panels.count() / groups,
                (next - first) * panels.count() / groups},
               next < end);
    }
  }

  /// The block of `a` from `row` times some panels; if `goesOn`, the next block
  /// is the same thread's.
  void multiply(int64_t row, Span some, bool goesOn) {
    int64_t rows = std::min(kBlockRows, a.rows - row);
    Span cols{some.begin * kPanelCols,
              std::min(some.end * kPanelCols, panels.cols)};
    if (a.colStride == 1)
      panels.multiply({a.at(row, 0), a.rowStride}, rows, {0, a.cols}, cols,
                      accumulate, {c.row(row), c.stride});
    else
      multiplyByColumns(row, rows, some, goesOn);
    // What the addend is added to is still in the cache.
    if (addend.data)
      add(addend.block(row, cols.begin, rows, cols.size()),
          {c.row(row) + cols.begin, c.stride});
  }

  void multiplyByColumns(int64_t row, int64_t rows, Span some, bool goesOn) {
    static thread_local Scratch scratch;
    float *left = scratch.reserve(kBlockRows * kPassDepth);
    pack(a.block(row, 0, rows, a.cols).transposed(), left, kBlockRows);
    for (int64_t p = some.begin; p < some.end; ++p)
      for (int64_t k = 0; k < a.cols; k += kColumnDepth) {
        // To prefetch beyond the last column does no harm.
        bool fetches = goesOn && p + 1 == some.end;
        multiplyBlock({.rows = rows,
                       .cols = panels.width(p),
                       .depth = std::min(kColumnDepth, a.cols - k),
                       .a = {left + k * kBlockRows, 1, kBlockRows},
                       .b = panels.at(p, k),
                       .accumulate = accumulate || k != 0,
                       .c = {c.row(row) + p * kPanelCols, c.stride},
                       .prefetch = {a.at(row + kBlockRows, k), a.colStride,
                                    fetches ? kBlockRows / kLineFloats : 0}});
      }
  }

  const MatrixView a, b, addend;
  const bool accumulate;
  const Rows<float> c;
  Panels panels{};
  int64_t groups = 1; ///< of panels: so many tasks has a block
};

/// Whether oneDNN's kernel for one block is no slower than MKL on this
/// processor. Nothing else is asked: the same program gives the same values.
bool blockKernelPays() {
#if defined(__x86_64__)
  static const bool answer = hasVectors() && !__builtin_cpu_is("intel");
  return answer;
#else
  return false;
#endif
}

} // namespace

bool gemmCan(const MatrixView &m) {
  bool rowMajor = m.colStride == 1 && m.rowStride >= m.cols;
  bool columnMajor = m.rowStride == 1 && m.colStride >= m.rows;
  return rowMajor || columnMajor;
}

bool gemmPays(const MatrixView &a, const MatrixView &b) {
  return blockKernelPays() && (a.rows >= 8 || isForFewRows(a, b)) &&
         b.cols >= 4 && a.cols >= 4 && gemmCan(a) && gemmCan(b);
}

void gemm(const MatrixView &a, const MatrixView &b, const MatrixView &addend,
          Rows<float> c) {
  if (isForFewRows(a, b))
    return multiplyFewRows(a, b, addend, c);
  bool inPlace = addend.data == c.data;
  const int64_t most = passDepth();
  for (int64_t col = 0; col < b.cols; col += kPassCols)
    for (int64_t inner = 0; inner < a.cols; inner += most) {
      int64_t cols = std::min(kPassCols, b.cols - col);
      int64_t depth = std::min(most, a.cols - inner);
      MatrixView last{};
      if (addend.data && !inPlace && inner + depth == a.cols)
        last = addend.block(0, col, a.rows, cols);
      Pass(a.block(0, inner, a.rows, depth), b.block(inner, col, depth, cols),
           last, inPlace || inner > 0, {c.data + col, c.stride})
          .run();
    }
}

} // namespace ltc::kernels
