//===- pool.cpp - Host memory, kept for reuse -----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pool.h"

#include <cstdlib>
#include <cstring>

namespace ltc::cpu {

void *Pool::fromSystem(size_t bytes) {
  return bytes >= Pages::smallest ? pages.allocate(bytes)
                                  : std::aligned_alloc(64, bytes);
}

void Pool::toSystem(Block block) {
  if (block.bytes >= Pages::smallest)
    pages.release(block.data, block.bytes);
  else
    std::free(block.data);
}

void Pool::clear(Block block) {
  if (block.bytes >= Pages::smallest)
    Pages::clear(block.data, block.bytes);
  else
    std::memset(block.data, 0, block.bytes);
}

} // namespace ltc::cpu
