//===- index_range.h - Looks at indices before a write ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ATen's kernels that write to some elements of a tensor meet an index that is
// out of range when they have written others. What they write to may be the
// value that a failed graph has to leave as it was.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/stack.h>

#include <string_view>

namespace ltc::backend {

/// Whether an index of a call, of an op that writes by index (op_facts.def),
/// may be out of range. Arguments are those of the op's schema. False only if
/// all are in range.
bool mayBeOutOfRange(std::string_view op,
                     const std::vector<c10::IValue> &arguments);

} // namespace ltc::backend
