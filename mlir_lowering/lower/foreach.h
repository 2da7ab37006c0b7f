//===- foreach.h - _foreach_ ops, one tensor at a time ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {

/// What one tensor of a _foreach_ call does.
struct ForeachItem {
  const Row *row;
  OpCall call;
};

/// Splits `aten::_foreach_x` into a call of x's row for each tensor of its
/// lists. Empty when the op is no _foreach_, or a part has no row.
std::vector<ForeachItem> splitForeach(const OpCall &op, const OpTable &table);

} // namespace ltc::compiler
