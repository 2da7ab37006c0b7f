//===- scratch.h - Memory that a thread keeps for its kernels ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <new>
#include <sys/mman.h>

namespace ltc::kernels {

/// Floats at an address that a page begins at. Made thread_local: a kernel
/// finds what the last one left, and maps only to have more. Of a thread's
/// heap, where small pieces lie between, the one that became too small would
/// stay resident.
class Scratch {
public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() { release(); }

  /// At least `count` floats of any value, until the next reserve().
  float *reserve(int64_t count) {
    if (count > size) {
      release();
      void *mapped =
          mmap(nullptr, size_t(count) * sizeof(float), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mapped == MAP_FAILED)
        throw std::bad_alloc(); // as `new` does; resolve()'s kernels catch it
      data = static_cast<float *>(mapped);
      size = count;
    }
    return data;
  }

private:
  void release() {
    if (data)
      munmap(data, size_t(size) * sizeof(float));
    data = nullptr;
    size = 0;
  }

  float *data = nullptr;
  int64_t size = 0;
};

} // namespace ltc::kernels
