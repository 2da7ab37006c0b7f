//===- to_llvm.cpp - Loops and vectors to the LLVM dialect ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/rewrite.h"
#include "mlir_lowering/target/llvm/llvm.h"
#include "mlir_lowering/target/math/math.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace ltc::compiler {

/// Arithmetic on the short floats is done in f32; only loads, stores and
/// casts see them.
static void widenShortFloats(OpPassManager &passes) {
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16", "f16", "f8E4M3FN", "f8E5M2"};
  emulate.targetTypeStr = "f32";
  passes.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  passes.addPass(math::createMathExtendToSupportedTypes());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  passes.addPass(arith::createArithExpandOpsPass(expand));
}

/// Nobody promises which of two zeros is the greater: to order them by their
/// signs would double the work of a maximum.
static void equateZeros(ModuleOp module) {
  module.walk([](arith::ArithFastMathInterface op) {
    auto kind = vector::CombiningKind::ADD;
    if (auto reduction = dyn_cast<vector::ReductionOp>(op.getOperation()))
      kind = reduction.getKind();
    if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op.getOperation()) &&
        kind != vector::CombiningKind::MAXIMUMF &&
        kind != vector::CombiningKind::MINIMUMF)
      return;
    auto flags = op.getFastMathFlagsAttr().getValue();
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(
                    op->getContext(), flags | arith::FastMathFlags::nsz));
  });
}

LogicalResult lowerToLlvm(ModuleOp module, unsigned vectorBits) {
  equateZeros(module);
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  widenShortFloats(passes);
  passes.addPass(createCanonicalizerPass(rewriteConfig()));
  passes.addPass(createCSEPass());
  if (failed(passes.run(module)) || failed(approximateMath(module, vectorBits)))
    return failure();

  PassManager conversion(module.getContext());
  conversion.enableVerifier(false);
  conversion.addPass(createConvertMathToLLVMPass());
  // Takes vectors apart for the C library, lane by lane.
  conversion.addPass(createConvertMathToLibmPass());
  conversion.addPass(createConvertVectorToLLVMPass());
  conversion.addPass(createSCFToControlFlowPass());
  conversion.addPass(createConvertComplexToStandardPass());
  conversion.addPass(createConvertComplexToLLVMPass());
  conversion.addPass(createFinalizeMemRefToLLVMConversionPass());
  conversion.addPass(createArithToLLVMConversionPass());
  conversion.addPass(createConvertIndexToLLVMPass());
  conversion.addPass(createUBToLLVMConversionPass());
  conversion.addPass(createConvertFuncToLLVMPass());
  conversion.addPass(createConvertControlFlowToLLVMPass());
  conversion.addPass(createReconcileUnrealizedCastsPass());
  return conversion.run(module);
}

} // namespace ltc::compiler
