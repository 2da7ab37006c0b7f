//===- collectives/gloo_tags.cpp - Gloo's tags ----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/gloo_tags.h"

#include <c10/util/Exception.h>
#include <c10/util/Type.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace c10d {
/// The one function of it that is used here. PyTorch's header of the class
/// includes Gloo's, which no wheel has. Weak: a PyTorch without it still loads.
class ProcessGroupGloo {
public:
  [[gnu::weak]] uint32_t nextTag();
};
} // namespace c10d

namespace ltc::backend {

bool isGloo(const c10d::Backend &backend) {
  return c10::demangle(typeid(backend).name()) == "c10d::ProcessGroupGloo";
}

static bool canSkip() {
  if (&c10d::ProcessGroupGloo::nextTag != nullptr)
    return true;
  TORCH_WARN_ONCE(
      "This PyTorch has no ProcessGroupGloo::nextTag(): ranks that call "
      "different collectives may get wrong values instead of an error. "
      "TORCH_DISTRIBUTED_DEBUG=DETAIL compares each call.");
  return false;
}

void skipTags(c10d::Backend &gloo, uint64_t hash) {
  if (!canSkip())
    return;
  // A prime: few calls differ by a multiple. 1020 skips take about 1 us.
  constexpr uint64_t kTags = 1021;
  auto &tags = reinterpret_cast<c10d::ProcessGroupGloo &>(gloo);
  for (uint64_t i = hash % kTags; i > 0; --i)
    tags.nextTag();
}

int64_t messageTag(int64_t tag, uint64_t hash) {
  // Programs choose small tags: the upper bits of 31 are free.
  constexpr int kShift = 16;
  constexpr int64_t kMost = 0x7fffffff;
  return (tag ^ int64_t(hash << kShift)) & kMost;
}

} // namespace ltc::backend
