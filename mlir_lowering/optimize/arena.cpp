//===- arena.cpp - Offsets in one block of memory ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/arena.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

namespace ltc::compiler {

int64_t packArena(llvm::MutableArrayRef<Lifetime> lifetimes) {
  llvm::SmallVector<Lifetime *> bySize;
  for (Lifetime &lifetime : lifetimes)
    bySize.push_back(&lifetime);
  llvm::stable_sort(
      bySize, [](Lifetime *a, Lifetime *b) { return a->bytes > b->bytes; });
  llvm::SmallVector<Lifetime *> placed; // by offset
  int64_t total = 0;
  for (Lifetime *one : bySize) {
    int64_t end = 0;
    for (Lifetime *other : placed) {
      if (other->last < one->first || one->last < other->first)
        continue;
      if (other->offset - end >= one->bytes)
        break;
      end = std::max(end, int64_t(llvm::alignTo(other->offset + other->bytes,
                                                kArenaAlignment)));
    }
    one->offset = end;
    total = std::max(total, end + one->bytes);
    auto where = llvm::upper_bound(placed, one, [](Lifetime *a, Lifetime *b) {
      return a->offset < b->offset;
    });
    placed.insert(where, one);
  }
  return llvm::alignTo(total, kArenaAlignment);
}

} // namespace ltc::compiler
