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

static Formula monomial(const Formula::Term &term, int64_t coefficient) {
  Formula product(coefficient);
  for (uint32_t symbol : term.symbols)
    product = product * Formula::symbol(symbol);
  return product;
}

static int64_t coefficientOf(const Formula &formula,
                             const Formula::Term &like) {
  for (const Formula::Term &term : formula.terms())
    if (term.symbols == like.symbols)
      return term.coefficient;
  return 0;
}

Formula largest(const Formula &a, const Formula &b) {
  Formula most;
  for (const Formula::Term &term : a.terms())
    most = most +
           monomial(term, std::max(term.coefficient, coefficientOf(b, term)));
  for (const Formula::Term &term : b.terms())
    if (!coefficientOf(a, term) && term.coefficient > 0)
      most = most + monomial(term, term.coefficient);
  return most;
}

llvm::SmallVector<Formula>
shareSlots(llvm::MutableArrayRef<OpenLifetime> lifetimes,
           llvm::function_ref<int64_t(const Formula &)> usual) {
  struct Slot {
    Formula bytes;
    llvm::SmallVector<OpenLifetime *> tenants;
  };
  llvm::SmallVector<Slot> slots;
  llvm::SmallVector<OpenLifetime *> bySize;
  for (OpenLifetime &lifetime : lifetimes)
    bySize.push_back(&lifetime);
  llvm::stable_sort(bySize, [&](OpenLifetime *a, OpenLifetime *b) {
    return usual(a->bytes) > usual(b->bytes);
  });
  for (OpenLifetime *one : bySize) {
    // A new slot costs all of it. Of slots that cost the same, the one that was
    // left last is still in the caches.
    int64_t least = usual(one->bytes), latest = -1;
    one->slot = slots.size();
    for (auto [number, slot] : llvm::enumerate(slots)) {
      int64_t growth =
          usual(largest(slot.bytes, one->bytes)) - usual(slot.bytes);
      int64_t left = -1;
      bool isFree = llvm::all_of(slot.tenants, [&](OpenLifetime *other) {
        if (other->last < one->first)
          left = std::max(left, other->last);
        return other->last < one->first || one->last < other->first;
      });
      bool isWarmer =
          one->slot < slots.size() && growth == least && left > latest;
      if (isFree && (growth < least || isWarmer)) {
        least = growth;
        latest = left;
        one->slot = number;
      }
    }
    if (one->slot == slots.size())
      slots.emplace_back();
    Slot &slot = slots[one->slot];
    slot.bytes = largest(slot.bytes, one->bytes);
    slot.tenants.push_back(one);
  }
  llvm::SmallVector<Formula> sizes;
  for (Slot &slot : slots)
    sizes.push_back(std::move(slot.bytes));
  return sizes;
}

} // namespace ltc::compiler
