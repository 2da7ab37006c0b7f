//===- bufferize_call.cpp - ltc.call on memrefs -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/scatter_rows.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace ltc::compiler {
namespace {

struct CallModel : DstBufferizableOpInterfaceExternalModel<CallModel, CallOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return scatterRows(op) || !cast<CallOp>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto call = cast<CallOp>(op);
    SmallVector<Value> inputs, outs;
    for (auto [index, input] : llvm::enumerate(call.getInputs())) {
      Value &value = inputs.emplace_back(input);
      if (!isa<mlir::TensorType>(input.getType()))
        continue;
      FailureOr<Value> buffer = getBuffer(rewriter, input, options, state);
      if (failed(buffer))
        return failure();
      value = *buffer;
      ArrayRef<int64_t> order = call.permutationOf(index);
      if (!order.empty())
        value = memref::TransposeOp::create(
            rewriter, call.getLoc(), value,
            AffineMapAttr::get(
                AffineMap::getPermutationMap(order, rewriter.getContext())));
    }
    for (Value out : call.getOuts()) {
      FailureOr<Value> buffer = getBuffer(rewriter, out, options, state);
      if (failed(buffer))
        return failure();
      outs.push_back(*buffer);
    }
    CallOp::create(rewriter, call.getLoc(), TypeRange(), call.getCalleeAttr(),
                   call.getNamesAttr(), call.getValuesAttr(),
                   call.getOperandDtypesAttr(), call.getResultDtypesAttr(),
                   call.getNodeAttr(), ArrayAttr(), inputs, outs);
    replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }
};

} // namespace

void registerLtcDialect(DialectRegistry &registry) {
  registry.insert<LtcDialect>();
  registry.addExtension(+[](MLIRContext *context, LtcDialect *) {
    CallOp::attachInterface<CallModel>(*context);
    context->loadDialect<memref::MemRefDialect>();
  });
}

} // namespace ltc::compiler
