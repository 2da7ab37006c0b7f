//===- lower_matrix_ops.cpp - Tensor cores' ops to LLVM's -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the nvgpu dialect: upstream's own lowering leaves products of bf16 as they
// are.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

constexpr unsigned kGlobal = 1, kShared = 3; ///< NVPTX's address spaces

/// The address of an element, in a space that its memory is known to be of.
Value addressOf(ImplicitLocOpBuilder &b, Value memref, ValueRange indices,
                unsigned space) {
  auto type = cast<MemRefType>(memref.getType());
  LLVMTypeConverter converter(b.getContext());
  Value descriptor =
      UnrealizedConversionCastOp::create(b, converter.convertType(type), memref)
          .getResult(0);
  SmallVector<Value> numbers;
  for (Value index : indices)
    numbers.push_back(arith::IndexCastOp::create(b, b.getI64Type(), index));
  Value address = LLVM::getStridedElementPtr(b, b.getLoc(), converter, type,
                                             descriptor, numbers);
  if (type.getMemorySpaceAsInt() == space)
    return address;
  return LLVM::AddrSpaceCastOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), space), address);
}

void call(ImplicitLocOpBuilder &b, StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
}

/// What the intrinsic gives: `count` values of a type.
SmallVector<Value> call(ImplicitLocOpBuilder &b, StringRef name, Type type,
                        int64_t count, ValueRange operands) {
  auto all = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(size_t(count), type));
  Value given =
      LLVM::CallIntrinsicOp::create(b, all, b.getStringAttr(name), operands)
          .getResults();
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, given, i));
  return values;
}

void lower(nvgpu::LdMatrixOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<VectorType>(op.getType());
  StringRef name = op.getTranspose()
                       ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                       : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16";
  Value from = addressOf(b, op.getSrcMemref(), op.getIndices(), kShared);
  SmallVector<Value> words = call(b, name, b.getI32Type(), 4, from);
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
  for (auto [i, word] : llvm::enumerate(words)) {
    Value row = vector::BroadcastOp::create(
        b, VectorType::get(1, b.getI32Type()), word);
    row = vector::BitCastOp::create(
        b, VectorType::get(2, type.getElementType()), row);
    result = vector::InsertOp::create(b, row, result, int64_t(i));
  }
  op.replaceAllUsesWith(result);
}

void lower(nvgpu::MmaSyncOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  bool isBf16 = getElementTypeOrSelf(op.getMatrixA().getType()).isBF16();
  SmallVector<Value> operands;
  for (Value factor : {op.getMatrixA(), op.getMatrixB()})
    for (int64_t i = 0; i < cast<VectorType>(factor.getType()).getDimSize(0);
         ++i) {
      Value row = vector::ExtractOp::create(b, factor, i);
      if (isBf16) { // which is given in words
        row = vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()),
                                        row);
        row = vector::ExtractOp::create(b, row, int64_t(0));
      }
      operands.push_back(row);
    }
  for (int64_t i = 0; i < 4; ++i)
    operands.push_back(vector::ExtractOp::create(
        b, op.getMatrixC(), ArrayRef<int64_t>{i / 2, i % 2}));
  SmallVector<Value> sums =
      call(b,
           isBf16 ? "llvm.nvvm.mma.m16n8k16.row.col.bf16"
                  : "llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
           b.getF32Type(), 4, operands);
  Value result = op.getMatrixC();
  for (int64_t i = 0; i < 4; ++i)
    result = vector::InsertOp::create(b, sums[i], result,
                                      ArrayRef<int64_t>{i / 2, i % 2});
  op.replaceAllUsesWith(result);
}

void lower(nvgpu::DeviceAsyncCopyOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value to = addressOf(b, op.getDst(), op.getDstIndices(), kShared);
  Value from = addressOf(b, op.getSrc(), op.getSrcIndices(), kGlobal);
  StringRef name = "llvm.nvvm.cp.async.cg.shared.global.16";
  Value elements = op.getSrcElements();
  if (!elements)
    return call(b, name, {to, from});
  Value bytes = arith::IndexCastOp::create(b, b.getI32Type(), elements);
  bytes =
      arith::MulIOp::create(b, bytes, arith::ConstantIntOp::create(b, 2, 32));
  call(b, (name + ".s").str(), {to, from, bytes});
}

void lower(nvgpu::DeviceAsyncCreateGroupOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  call(b, "llvm.nvvm.cp.async.commit.group", {});
}

void lower(nvgpu::DeviceAsyncWaitOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value groups = LLVM::ConstantOp::create(
      b, b.getI32Type(), int64_t(op.getNumGroups().value_or(0)));
  call(b, "llvm.nvvm.cp.async.wait.group", groups);
}

template <typename Op> void lowerAll(ModuleOp part) {
  SmallVector<Op> ops;
  part.walk([&](Op op) { ops.push_back(op); });
  for (Op op : ops) {
    lower(op);
    op->dropAllUses(); // tokens say nothing to LLVM
    op.erase();
  }
}

} // namespace

void lowerMatrixOps(ModuleOp part) {
  lowerAll<nvgpu::DeviceAsyncWaitOp>(part);
  lowerAll<nvgpu::DeviceAsyncCreateGroupOp>(part);
  lowerAll<nvgpu::DeviceAsyncCopyOp>(part);
  lowerAll<nvgpu::LdMatrixOp>(part);
  lowerAll<nvgpu::MmaSyncOp>(part);
}

} // namespace ltc::compiler
