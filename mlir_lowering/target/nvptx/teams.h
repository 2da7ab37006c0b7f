//===- teams.h - Who does an iteration of a GPU's loop ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An iteration of the parallel loop is done by a team of threads: a block, or,
// of short rows, a warp or a part of one, of which a block then has several. A
// team within a warp waits for itself alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/tuning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ltc::compiler {

struct Team {
  int64_t threads = 1; ///< a power of two
  int64_t count = 1;   ///< of a block
};

/// As many threads as have work in the largest op; `lanes` elements make a
/// vector.
Team chooseTeam(mlir::func::FuncOp kernel,
                llvm::ArrayRef<mlir::linalg::GenericOp> ops,
                const Schedule &schedule, int64_t lanes);

/// Has each block do as many iterations as it has teams, with temporaries of
/// their own. The loop's body is what one team does.
void shareBlock(mlir::func::FuncOp kernel, Team team);

} // namespace ltc::compiler
