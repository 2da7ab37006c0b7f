//===- grown_memory.h - Memory that grows -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace ltc::cpu {

/// Memory at a multiple of 64, which grows.
class GrownMemory {
public:
  GrownMemory() = default;
  ~GrownMemory() { reset(); }
  GrownMemory(const GrownMemory &) = delete;
  GrownMemory &operator=(const GrownMemory &) = delete;

  /// At least so many bytes, whose content is lost; null: there are not.
  char *atLeast(size_t bytes) {
    constexpr size_t alignment = 64;
    if (bytes > size || !data) {
      reset();
      size_t rounded =
          (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
      data = static_cast<char *>(std::aligned_alloc(alignment, rounded));
      size = data ? rounded : 0;
    }
    return data;
  }
  /// Gives them up.
  void reset() {
    std::free(std::exchange(data, nullptr));
    size = 0;
  }

private:
  char *data = nullptr;
  size_t size = 0;
};

} // namespace ltc::cpu
