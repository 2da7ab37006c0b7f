//===- access_check.h - Who reaches which byte of a launch ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two threads of a block that reach a byte with no barrier between them, one of
// them to write, are a race; two blocks always are, for nothing orders those.
// Additions that memory does at once race with everything but each other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace ltc::emulator {

enum class Access : int32_t { Read, Write, Atomic };

/// Of one launch.
class AccessCheck {
public:
  /// Accesses may reach so many bytes from this one on. While nothing is
  /// allowed, all is.
  void allow(const void *begin, int64_t bytes);
  void beginBlock(uint32_t number);
  /// Of all threads of the block.
  void barrier();
  /// Of some threads of a warp.
  void barrier(std::span<const size_t> team);

  /// What is wrong with an access by a thread of this block, or nothing.
  /// `isShared`: to memory that each block has for itself.
  std::optional<std::string> visit(const char *place, size_t bytes,
                                   Access access, uint32_t thread,
                                   bool isShared);

private:
  static constexpr uint32_t kNobody = UINT32_MAX, kSeveral = kNobody - 1;

  /// The readers, writers or adders of a byte: threads of this block since the
  /// last barrier, and blocks before.
  struct Visitors {
    uint64_t epoch = 0;
    uint32_t thread = kNobody, block = kNobody;
  };
  struct Byte {
    Visitors by[3]; ///< for each kind of access
  };
  static constexpr size_t kPage = 4096;
  using Page = std::vector<Byte>;

  Byte &byteAt(const char *place);
  bool isAllowed(const char *place, size_t bytes) const;
  const char *conflict(const Visitors &before, uint32_t thread,
                       bool isShared) const;
  void note(Visitors &visitors, uint32_t thread);

  std::vector<std::pair<uintptr_t, uintptr_t>> allowed;
  std::unordered_map<uintptr_t, Page> pages;
  uintptr_t lastNumber = 0;
  Page *lastPage = nullptr;
  std::vector<Visitors *> visited; ///< since the last barrier
  uint64_t epoch = 1;
  uint32_t block = 0;
};

} // namespace ltc::emulator
