//===- scalar_memory.cpp - Indices, loads, random bits ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"

namespace ltc::compiler {

using namespace mlir;

Value Scalar::fromMemory(mlir::Value raw, DType dtype) {
  if (dtype == DType::Bool) {
    mlir::Value zero =
        arith::ConstantOp::create(b, b.getIntegerAttr(raw.getType(), 0));
    return {arith::CmpIOp::create(b, arith::CmpIPredicate::ne, raw, zero),
            DType::Bool};
  }
  return cast({raw, dtype}, computeDType(dtype));
}

mlir::Value Scalar::toMemory(Value x, DType dtype) {
  mlir::Value ir = cast(x, dtype).ir();
  if (dtype == DType::Bool)
    return arith::ExtUIOp::create(b, memoryType(b.getContext(), dtype), ir);
  return ir;
}

mlir::Value Scalar::toIndex(Value x) {
  if (x.isLiteral())
    return arith::ConstantIndexOp::create(b, x.asInteger());
  if (x.ir().getType().isIndex())
    return x.ir();
  if (isUnsigned(x.dtype()))
    return arith::IndexCastUIOp::create(b, b.getIndexType(), x.ir());
  return arith::IndexCastOp::create(b, b.getIndexType(), x.ir());
}

static Value fromIndex(ImplicitLocOpBuilder &b, mlir::Value index) {
  return {arith::IndexCastOp::create(b, b.getI64Type(), index), DType::I64};
}

Value Scalar::index(int64_t dim) {
  if (!loops.empty() && loops[dim] < 0)
    return number(0, DType::I64);
  if (!loops.empty())
    dim = loops[dim];
  return fromIndex(b, linalg::IndexOp::create(b, dim));
}

Value Scalar::checkIndex(Value index, Value bound, bool wrap) {
  return fromIndex(b, CheckIndexOp::create(b, b.getIndexType(), toIndex(index),
                                           toIndex(bound), site, wrap));
}

Value Scalar::load(Value tensor, ArrayRef<Value> indices) {
  SmallVector<mlir::Value> at;
  for (Value index : indices)
    at.push_back(toIndex(index));
  return fromMemory(tensor::ExtractOp::create(b, tensor.ir(), at),
                    tensor.dtype());
}

Value Scalar::loadIf(Value inside, Value tensor, ArrayRef<Value> indices,
                     Value otherwise) {
  SmallVector<Value> at;
  for (Value index : indices)
    at.push_back(select(inside, index, number(0, DType::I64)));
  return select(inside, load(tensor, at), otherwise);
}

Value Scalar::size(Value tensor, int64_t dim) {
  int64_t size = tensor.size(dim);
  if (!ShapedType::isDynamic(size))
    return size;
  return fromIndex(b, tensor::DimOp::create(b, tensor.ir(), dim));
}

/// Philox4x32-10 (Salmon et al., SC 2011): key = seed, counter in two words.
static std::array<Value, 4> philoxWords(Scalar &s, Value seed, Value counter) {
  auto low = [&](Value x) { return s.cast(x, DType::U32); };
  auto high = [&](Value x) { return low(s.shiftRight(x, 32)); };
  auto wide = [&](Value x) { return s.cast(x, DType::U64); };
  auto word = [&](uint32_t x) { return s.number(int64_t(x), DType::U32); };
  seed = wide(seed), counter = wide(counter);
  std::array<Value, 4> c = {low(counter), high(counter), word(0), word(0)};
  Value k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    Value p0 = s.mul(wide(word(0xD2511F53)), wide(c[0]));
    Value p1 = s.mul(wide(word(0xCD9E8D57)), wide(c[2]));
    c = {s.bitXor(s.bitXor(high(p1), c[1]), k0), low(p1),
         s.bitXor(s.bitXor(high(p0), c[3]), k1), low(p0)};
    k0 = s.add(k0, word(0x9E3779B9));
    k1 = s.add(k1, word(0xBB67AE85));
  }
  return c;
}

Value Scalar::philox(Value seed, Value counter, int word) {
  return philoxWords(*this, seed, counter)[word];
}

Value Scalar::uniform(Value seed, Value counter, DType dtype) {
  std::array<Value, 4> words = philoxWords(*this, seed, counter);
  if (dtype != DType::F64) {
    // 24 bits fit f32 exactly; signed conversion is one instruction.
    Value bits = cast(shiftRight(words[0], 8), DType::I32);
    return mul(cast(bits, DType::F32), 0x1p-24);
  }
  Value bits = bitOr(shiftLeft(cast(words[0], DType::U64), 32),
                     cast(words[1], DType::U64));
  return mul(cast(cast(shiftRight(bits, 11), DType::I64), DType::F64), 0x1p-53);
}

} // namespace ltc::compiler
