//===- tile_kernel.h - Kernels into parallel loops --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/target/tuning.h"

namespace ltc::compiler {

/// Makes a kernel on tensors one parallel loop over tiles, as large as its
/// schedule says; a serial one stays as it is.
mlir::LogicalResult tileKernel(mlir::func::FuncOp kernel,
                               const Schedule &schedule);

} // namespace ltc::compiler
