//===- loops.cpp - Kernels on memrefs into loops ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/cpu.h"
#include "mlir_lowering/target/cpu/loops/index_set_splitting.h"
#include "mlir_lowering/target/cpu/loops/nest_emitter.h"
#include "mlir_lowering/target/loops/generics.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

LogicalResult CpuBackend::emitLoops(func::FuncOp kernel,
                                    const Schedule &schedule,
                                    const TargetFacts &facts) const {
  FailureOr<SmallVector<GenericOp>> generics = genericsOf(kernel);
  if (failed(generics))
    return failure();
  for (GenericOp generic : *generics)
    for (GenericOp part : splitIndexSets(generic))
      NestEmitter(part, schedule, facts).run();
  return success();
}

} // namespace ltc::compiler
