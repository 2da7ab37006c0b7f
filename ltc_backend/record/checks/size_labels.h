//===- checks/size_labels.h - Small sizes that compare alike ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/probe.h"

#include "ltc/hash.h"

#include <set>

namespace ltc::backend {

/// The least sizes for the tensors of a call among which the same ones are
/// equal and the same ones larger. Those up to 3 stay as they are.
class SizeLabels {
public:
  explicit SizeLabels(c10::ArrayRef<c10::IValue> arguments);

  /// Zeros of such sizes, in one element of memory. Not to outlive this.
  ProbeMaker probes() const;
  Hash128 hashOf(c10::ArrayRef<c10::IValue> arguments) const;
  std::vector<int64_t> label(at::IntArrayRef sizes) const;
  /// The sizes that have these labels; nullopt if none has one of them.
  std::optional<std::vector<int64_t>> sizesOf(at::IntArrayRef labels) const;

private:
  std::set<int64_t> known;
};

} // namespace ltc::backend
