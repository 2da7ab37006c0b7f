//===- node_location.h - Which nodes an op computes -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a node of the graph is lowered to has its number in the location, which
// every pass hands on. Two graphs that are equal but for lines give equal
// numbers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace ltc::compiler {

mlir::Location atNode(mlir::Location place, int64_t node);
/// One location for what all these ops and those inside them compute.
mlir::Location atNodesOf(mlir::Location place,
                         llvm::ArrayRef<mlir::Operation *> ops);
/// The nodes of a location, in ascending order.
llvm::SmallVector<uint32_t> nodesAt(mlir::Location location);

} // namespace ltc::compiler
