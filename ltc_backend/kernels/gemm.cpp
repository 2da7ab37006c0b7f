//===- gemm.cpp - Matrix products around oneDNN's kernel --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "gemm.h"

#include "block_product.h"
#include "for_ranges.h"
#include "pack.h"
#include "scratch.h"

#include <ATen/native/CPUBlas.h>
#include <fbgemm/Utils.h>

#include <algorithm>

namespace ltc::backend {
namespace {

// A block of `a` (64 x 1024 floats) and a panel of `b` (1024 x 64) share a
// 1 MiB second-level cache; all panels of a pass are at most 8 MiB.
constexpr int64_t kRows = 64, kCols = 64, kDepth = 1024, kPass = 2048;
/// Of a block of `a` that lies by columns, what the first-level cache can hold
/// of it while a panel passes.
constexpr int64_t kColumnDepth = 256;
static_assert(kCols == kBlockCols);
/// Of the rows of `a` that are turned over whole.
constexpr int64_t kLongest = 16 * kDepth;

/// Adds a block of `addend`, whose (0, 0) is at (row, col), if there is one.
void add(const GemmOperand &addend, int64_t row, int64_t col, int64_t rows,
         int64_t cols, float *to, int64_t stride) {
  if (!addend.data)
    return;
  for (int64_t r = 0; r < rows; ++r, to += stride) {
    const float *from =
        addend.data + (row + r) * addend.rowStride + col * addend.colStride;
    if (addend.colStride == 1)
      for (int64_t i = 0; i < cols; ++i)
        to[i] += from[i];
    else
      for (int64_t i = 0; i < cols; ++i)
        to[i] += from[i * addend.colStride];
  }
}

/// One pass: `depth` of the inner dimension and `width` columns of `c`.
class Pass {
public:
  Pass(const GemmOperand &a, const GemmOperand &b, const GemmOperand &addend,
       float *c, int64_t cStride)
      : a(a), b(b), addend(addend), c(c), cStride(cStride),
        accumulates(addend.data == c) {}

  void run(int64_t col, int64_t width, int64_t inner, int64_t depth) {
    firstCol = col;
    cols = width;
    firstInner = inner;
    innerSize = depth;
    panels = (cols + kCols - 1) / kCols;
    blocks = (a.rows + kRows - 1) / kRows;
    static thread_local Scratch scratch;
    packed = scratch.reserve(panels * kCols * depth);
    forRanges(panels,
              [this](int64_t begin, int64_t end) { packPanels(begin, end); });
    // Few blocks are split further, or threads would go without.
    groups = std::clamp<int64_t>(kTasks / blocks, 1, panels);
    forRanges(blocks * groups, [this](int64_t begin, int64_t end) {
      multiplyTasks(begin, end);
    });
  }

private:
  static constexpr int64_t kTasks = 32;

  float *panel(int64_t index) const {
    return packed + index * kCols * innerSize;
  }
  int64_t panelWidth(int64_t index) const {
    return std::min(kCols, cols - index * kCols);
  }

  void packPanels(int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      pack(b, firstInner, firstCol + p * kCols, innerSize, panelWidth(p),
           panel(p), kCols);
  }

  /// A block's tasks at once: it is copied for all of them.
  void multiplyTasks(int64_t begin, int64_t end) {
    for (int64_t task = begin, next; task < end; task = next) {
      int64_t block = task / groups, first = block * groups;
      next = std::min(end, first + groups);
      multiply(block, (task - first) * panels / groups,
               (next - first) * panels / groups, next < end);
    }
  }

  void multiply(int64_t block, int64_t begin, int64_t end, bool goesOn) {
    int64_t row = block * kRows, rows = std::min(kRows, a.rows - row);
    if (a.colStride == 1)
      multiplyByRows(row, rows, begin, end);
    else
      multiplyByColumns(row, rows, begin, end, goesOn);
    // What the addend is added to is still in the cache.
    if (!accumulates && firstInner + innerSize == a.cols)
      for (int64_t p = begin; p < end; ++p)
        add(addend, row, column(p), rows, panelWidth(p), out(row, p), cStride);
  }

  void multiplyByRows(int64_t row, int64_t rows, int64_t begin, int64_t end) {
    const float *left = a.data + row * a.rowStride + firstInner;
    for (int64_t p = begin; p < end; ++p)
      at::native::cpublas::brgemm(rows, panelWidth(p), innerSize, a.rowStride,
                                  kCols, cStride, accumulates || firstInner,
                                  left, panel(p), out(row, p));
  }

  void multiplyByColumns(int64_t row, int64_t rows, int64_t begin, int64_t end,
                         bool goesOn) {
    static thread_local Scratch scratch;
    float *left = scratch.reserve(kRows * kDepth);
    GemmOperand byColumns{a.data, a.cols, a.rows, a.colStride, a.rowStride};
    pack(byColumns, firstInner, row, innerSize, rows, left, kRows);
    for (int64_t p = begin; p < end; ++p)
      for (int64_t k = 0; k < innerSize; k += kColumnDepth) {
        // The next block; to prefetch beyond the last column does no harm.
        const float *next =
            a.data + row + kRows + (firstInner + k) * a.colStride;
        multiplyBlock(
            rows, panelWidth(p), std::min(kColumnDepth, innerSize - k),
            {left + k * kRows, 1, kRows}, panel(p) + k * kCols,
            accumulates || firstInner + k != 0, out(row, p), cStride,
            {next, a.colStride, goesOn && p + 1 == end ? kRows / 16 : 0});
      }
  }

  int64_t column(int64_t panel) const { return firstCol + panel * kCols; }
  float *out(int64_t row, int64_t panel) const {
    return c + row * cStride + column(panel);
  }

  const GemmOperand &a, &b, &addend;
  float *c;
  int64_t cStride;
  bool accumulates;
  int64_t firstCol, cols, firstInner, innerSize, panels, blocks, groups;
  float *packed;
};

/// Few rows times a matrix by columns, as a layer's weight is: b' a' is made,
/// which reads every weight once, where it lies, and turned over by blocks.
void multiplyFewRows(const GemmOperand &a, const GemmOperand &b,
                     const GemmOperand &addend, float *c, int64_t cStride) {
  static thread_local Scratch scratch;
  float *turned = scratch.reserve(a.rows * a.cols);
  GemmOperand byColumns{a.data, a.cols, a.rows, a.colStride, a.rowStride};
  pack(byColumns, 0, 0, a.cols, a.rows, turned, a.rows);
  auto multiply = [&](int64_t begin, int64_t end) {
    alignas(64) float block[kRows * kCols];
    for (int64_t i = begin; i < end; ++i) {
      int64_t col = i * kRows, cols = std::min(kRows, b.cols - col);
      at::native::cpublas::brgemm(cols, a.rows, a.cols, b.colStride, a.rows,
                                  a.rows, false, b.data + col * b.colStride,
                                  turned, block);
      float *out = c + col;
      if (addend.data != c) {
        fbgemm::transpose_simd<float>(cols, a.rows, block, a.rows, out,
                                      cStride);
        add(addend, 0, col, a.rows, cols, out, cStride);
      } else {
        add({block, a.rows, cols, 1, a.rows}, 0, 0, a.rows, cols, out, cStride);
      }
    }
  };
  forRanges((b.cols + kRows - 1) / kRows, multiply);
}

bool hasUnitStride(const GemmOperand &m) {
  bool rowMajor = m.colStride == 1 && m.rowStride >= m.cols;
  bool columnMajor = m.rowStride == 1 && m.colStride >= m.rows;
  return rowMajor || columnMajor;
}

} // namespace

bool blockKernelPays() {
#if defined(__x86_64__)
  static const bool answer = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && !__builtin_cpu_is("intel");
  }();
  return answer;
#else
  return false;
#endif
}

bool gemmPays(const GemmOperand &a, const GemmOperand &b) {
  // Of few rows the other way is faster, but for what it takes to get going.
  constexpr int64_t kSmall = 1 << 12;
  bool enoughRows =
      a.rows >= 8 || (a.rows >= 2 && a.rows * a.cols * b.cols <= kSmall);
  return blockKernelPays() && enoughRows && b.cols >= 4 && a.cols >= 4 &&
         hasUnitStride(a) && hasUnitStride(b);
}

void gemm(const GemmOperand &a, const GemmOperand &b, const GemmOperand &addend,
          float *c, int64_t cStride) {
  if (b.colStride != 1 && a.rows <= kCols && a.cols <= kLongest)
    return multiplyFewRows(a, b, addend, c, cStride);
  Pass pass(a, b, addend, c, cStride);
  for (int64_t col = 0; col < b.cols; col += kPass)
    for (int64_t inner = 0; inner < a.cols; inner += kDepth)
      pass.run(col, std::min(kPass, b.cols - col), inner,
               std::min(kDepth, a.cols - inner));
}

} // namespace ltc::backend
