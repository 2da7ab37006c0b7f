//===- arena.h - Offsets in one block of memory -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/formula.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace ltc::compiler {

/// Alignment of everything in the arena: a cache line, a vector register.
inline constexpr int64_t kArenaAlignment = 64;

/// Memory that is needed from position `first` to position `last`, inclusive.
struct Lifetime {
  int64_t bytes = 0, first = 0, last = 0;
  int64_t offset = -1; ///< filled in by packArena
};

/// Gives every lifetime an offset such that none that meet in time meet in
/// memory; returns the bytes needed. Largest first, each at the lowest offset
/// that is free: within a few percent of the most that is ever alive.
int64_t packArena(llvm::MutableArrayRef<Lifetime> lifetimes);

/// The least polynomial that is at least either, coefficient by coefficient:
/// it is so for all symbols, none of which is negative.
Formula largest(const Formula &a, const Formula &b);

/// Memory of a size that is known at run time only.
struct OpenLifetime {
  Formula bytes;
  int64_t first = 0, last = 0;
  unsigned slot = 0; ///< filled in by shareSlots
};

/// Gives every lifetime a slot such that none that meet in time share one;
/// returns the slots' sizes. `usual` says what a size is for the hints.
llvm::SmallVector<Formula>
shareSlots(llvm::MutableArrayRef<OpenLifetime> lifetimes,
           llvm::function_ref<int64_t(const Formula &)> usual);

} // namespace ltc::compiler
