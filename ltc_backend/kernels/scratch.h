//===- scratch.h - Memory that a thread keeps for its kernels ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace ltc::backend {

/// Floats at an address that a cache line begins at. Made thread_local: a
/// kernel finds what the last one left, and allocates only to have more.
class Scratch {
public:
  /// At least `count` floats of any value, until the next reserve().
  float *reserve(int64_t count) {
    if (count > size) {
      memory.reset(new (std::align_val_t(64)) float[count]);
      size = count;
    }
    return memory.get();
  }

private:
  struct Free {
    void operator()(float *data) const {
      ::operator delete[](data, std::align_val_t(64));
    }
  };
  std::unique_ptr<float[], Free> memory;
  int64_t size = 0;
};

} // namespace ltc::backend
