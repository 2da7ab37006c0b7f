//===- error_place.h - What the number of an error means --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"

namespace ltc::runtime {

/// What an artifact's program was at when it failed.
struct ErrorPlace {
  std::string op;                       ///< empty: unknown
  uint32_t node = Artifact::kNoNode;    ///< of the artifact's graph
  const Artifact::Call *call = nullptr; ///< null: a check in the code
  /// In a region of the call: the number of the node (ltc/region_ops.h).
  std::optional<size_t> inner;

  /// "ltc::while_loop: aten::index_select: ", or "".
  std::string prefix() const;
};

/// First error sites have numbers, then calls, then nodes of the regions that
/// calls have, call by call.
LTC_API ErrorPlace errorPlace(const Artifact &artifact, int64_t number);
/// The number of a call, or of a node of its regions.
LTC_API int64_t errorNumber(const Artifact &artifact, size_t call,
                            std::optional<size_t> inner);

} // namespace ltc::runtime
