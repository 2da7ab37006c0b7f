//===- checks/checked_value.h - Values that eager looks at first ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Composite ops that read a value, on the CPU alone, to refuse a bad one:
/// their check becomes part of the graph. `library` is aten's on the Lazy key,
/// `functionalize` on that one.
void registerCheckedValues(torch::Library &library,
                           torch::Library &functionalize);

} // namespace ltc::backend
