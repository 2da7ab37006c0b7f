//===- concatenate.cpp - cat() of tensors in one piece ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "concatenate.h"

#include "for_ranges.h"

#include <cstring>

namespace ltc::backend {
namespace {

constexpr int64_t kFewestBytes = 1 << 16; // that another thread is worth

/// What one part puts next to each other in the whole, again and again.
struct Run {
  const char *from;
  int64_t bytes, offset;
};

} // namespace

bool tryConcatenate(const c10::List<at::Tensor> &parts, int64_t dim,
                    const at::Tensor &whole) {
  auto fits = [&](const at::Tensor &part) {
    return part.dim() == whole.dim() && part.is_contiguous() &&
           part.scalar_type() == whole.scalar_type() && !part.is_conj() &&
           !part.is_neg();
  };
  if (whole.dim() == 0 || whole.numel() == 0 || !whole.is_contiguous())
    return false;
  dim += dim < 0 ? whole.dim() : 0;
  int64_t unit = whole.stride(dim) * int64_t(whole.element_size());
  int64_t length = whole.size(dim) * unit, end = 0;
  int64_t copies = int64_t(whole.nbytes()) / length;
  std::vector<Run> runs;
  runs.reserve(parts.size());
  for (const at::Tensor &part : parts) {
    if (!fits(part))
      return false;
    int64_t bytes = part.size(dim) * unit;
    runs.push_back(
        {static_cast<const char *>(part.const_data_ptr()), bytes, end});
    end += bytes;
  }
  auto *to = static_cast<char *>(whole.mutable_data_ptr());
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
  return true;
}

} // namespace ltc::backend
