//===- words.cpp - Arguments as 64-bit words --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/words.h"

#include "mlir_lowering/dialect/sizes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {

static Value wordAt(ImplicitLocOpBuilder &b, Value words, int64_t index) {
  return LLVM::GEPOp::create(b, words.getType(), b.getI64Type(), words,
                             ArrayRef<LLVM::GEPArg>{int32_t(index)});
}

/// The descriptor of dense memory of symbolic sizes.
static Value describe(ImplicitLocOpBuilder &b, Value pointer, MemRefType type,
                      ArrayRef<int64_t> sizes) {
  LLVMTypeConverter converter(b.getContext());
  Location loc = b.getLoc();
  auto made = MemRefDescriptor::poison(b, loc, converter.convertType(type));
  made.setAllocatedPtr(b, loc, pointer);
  made.setAlignedPtr(b, loc, pointer);
  made.setConstantOffset(b, loc, 0);
  auto word = [&](int64_t size) -> Value {
    OpFoldResult value = sizeValue(b, loc, size);
    if (auto known = dyn_cast<Value>(value))
      return arith::IndexCastOp::create(b, b.getI64Type(), known);
    return LLVM::ConstantOp::create(b, b.getI64Type(), size);
  };
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    made.setSize(b, loc, dim, word(sizes[dim]));
    made.setStride(b, loc, dim, word(stride));
    stride = productOf(b.getContext(), {stride, sizes[dim]});
  }
  return made;
}

/// A dense memref of that type at an address; `sizes` say its sizes if some
/// are symbolic. A memref<?xi8> without is given an unknown, huge size.
static Value memrefAt(ImplicitLocOpBuilder &b, Value pointer, Type type,
                      ArrayAttr sizes) {
  auto memref = cast<MemRefType>(type);
  LLVMTypeConverter converter(b.getContext());
  Value descriptor;
  if (sizes) {
    descriptor = describe(b, pointer, memref, sizesIn(sizes));
  } else if (memref.hasStaticShape()) {
    descriptor = MemRefDescriptor::fromStaticShape(b, b.getLoc(), converter,
                                                   memref, pointer);
  } else {
    auto empty =
        MemRefDescriptor::poison(b, b.getLoc(), converter.convertType(memref));
    empty.setAllocatedPtr(b, b.getLoc(), pointer);
    empty.setAlignedPtr(b, b.getLoc(), pointer);
    empty.setConstantOffset(b, b.getLoc(), 0);
    empty.setConstantSize(b, b.getLoc(), 0, INT64_MAX);
    empty.setConstantStride(b, b.getLoc(), 0, 1);
    descriptor = empty;
  }
  return UnrealizedConversionCastOp::create(b, memref, descriptor).getResult(0);
}

Value loadWord(ImplicitLocOpBuilder &b, Value words, int64_t index, Type type,
               ArrayAttr sizes, int64_t alignment) {
  Value place = wordAt(b, words, index);
  if (isa<MemRefType>(type)) {
    Value pointer = LLVM::LoadOp::create(b, words.getType(), place);
    if (alignment > 1) {
      Value holds = LLVM::ConstantOp::create(b, b.getI1Type(), true);
      Value bytes = LLVM::ConstantOp::create(b, b.getI64Type(), alignment);
      LLVM::AssumeOp::create(b, holds, LLVM::AssumeAlignTag(), pointer, bytes);
    }
    return memrefAt(b, pointer, type, sizes);
  }
  if (type.isIndex() || type.isInteger(1)) {
    Value word = LLVM::LoadOp::create(b, b.getI64Type(), place);
    if (type.isIndex())
      return arith::IndexCastOp::create(b, type, word);
    return arith::TruncIOp::create(b, type, word);
  }
  return LLVM::LoadOp::create(b, type, place);
}

} // namespace ltc::compiler
