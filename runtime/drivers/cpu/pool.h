//===- pool.h - Host memory, kept for reuse ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "drivers/block_pool.h"
#include "pages.h"

namespace ltc::cpu {

/// Of the host's memory; large blocks are on huge pages.
class Pool final : public BlockPool {
public:
  explicit Pool(size_t limit) : BlockPool(limit) {}
  ~Pool() override { releaseUntil(0); }

  static void clear(Block block); ///< fills it with zeros

private:
  void *fromSystem(size_t bytes) override;
  void toSystem(Block block) override;

  Pages pages;
};

} // namespace ltc::cpu
