//===- collectives/gloo_tags.h - Gloo's tags --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gloo pairs the messages of ranks by a tag, which counts a group's calls. If
// the calls with one tag differ, Gloo writes what fits, or ends the process.
// Here the tag depends on the call as well: ranks whose calls differ do not
// meet, at no cost, and wait until somebody says why.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace c10d {
class Backend;
} // namespace c10d

namespace ltc::backend {

bool isGloo(const c10d::Backend &backend);

/// Before a collective: skips as many of the backend's tags as the hash of the
/// call says. On the thread that calls it.
void skipTags(c10d::Backend &gloo, uint64_t hash);

/// The tag of a message whose program has chosen `tag`.
int64_t messageTag(int64_t tag, uint64_t hash);

} // namespace ltc::backend
