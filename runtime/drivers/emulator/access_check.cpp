//===- access_check.cpp - Who reaches which byte of a launch --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "access_check.h"

#include <algorithm>
#include <array>

namespace ltc::emulator {

void AccessCheck::allow(const void *begin, int64_t bytes) {
  auto first = reinterpret_cast<uintptr_t>(begin);
  allowed.emplace_back(first, first + uintptr_t(bytes));
}

void AccessCheck::beginBlock(uint32_t number) {
  block = number;
  barrier();
}

void AccessCheck::barrier() {
  ++epoch;
  visited.clear();
}

void AccessCheck::barrier(std::span<const size_t> team) {
  for (Visitors *visitors : visited)
    if (visitors->thread == kSeveral ||
        std::ranges::find(team, visitors->thread) != team.end())
      visitors->thread = kNobody;
}

bool AccessCheck::isAllowed(const char *place, size_t bytes) const {
  auto first = reinterpret_cast<uintptr_t>(place);
  return allowed.empty() || std::ranges::any_of(allowed, [&](auto range) {
           return first >= range.first && first + bytes <= range.second;
         });
}

AccessCheck::Byte &AccessCheck::byteAt(const char *place) {
  auto address = reinterpret_cast<uintptr_t>(place);
  uintptr_t number = address / kPage;
  if (!lastPage || number != lastNumber) {
    lastPage = &pages.try_emplace(number, kPage).first->second;
    lastNumber = number;
  }
  return (*lastPage)[address % kPage];
}

/// Where those before and this thread are, if nothing is between them.
const char *AccessCheck::conflict(const Visitors &before, uint32_t thread,
                                  bool isShared) const {
  if (before.block != kNobody && before.block != block && !isShared)
    return " in another block";
  bool isOther = before.epoch == epoch && before.thread != kNobody &&
                 before.thread != thread;
  return isOther ? ", with no barrier between them" : nullptr;
}

void AccessCheck::note(Visitors &visitors, uint32_t thread) {
  bool isNew = visitors.epoch != epoch || visitors.thread == kNobody;
  if (visitors.epoch != epoch)
    visited.push_back(&visitors);
  visitors.thread = isNew || visitors.thread == thread ? thread : kSeveral;
  visitors.epoch = epoch;
  bool isFirst = visitors.block == kNobody;
  visitors.block = isFirst || visitors.block == block ? block : kSeveral;
}

std::optional<std::string> AccessCheck::visit(const char *place, size_t bytes,
                                              Access access, uint32_t thread,
                                              bool isShared) {
  static constexpr std::array<const char *, 3> verbs = {"reads", "writes",
                                                        "adds to"};
  std::string self = "thread " + std::to_string(thread) + " ";
  std::string verb = verbs[size_t(access)];
  if (!isShared && !isAllowed(place, bytes))
    return self + verb + " memory that no argument of the kernel has";
  for (size_t i = 0; i < bytes; ++i) {
    Byte &byte = byteAt(place + i);
    for (Access other : {Access::Read, Access::Write, Access::Atomic}) {
      if (access == other && access != Access::Write)
        continue;
      if (const char *where =
              conflict(byte.by[size_t(other)], thread, isShared))
        return self + verb + " what another " + verbs[size_t(other)] + where;
    }
    note(byte.by[size_t(access)], thread);
  }
  return std::nullopt;
}

} // namespace ltc::emulator
