//===- scalar_memory.cpp - Indices, loads, random bits ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
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
    return getValueOrCreateConstantIndexOp(
        b, b.getLoc(), sizeValue(b, b.getLoc(), x.asInteger()));
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

Value Scalar::checked(Value x, Value holds, StringRef words) {
  return {CheckOp::create(b, x.ir().getType(), x.ir(), toBool(holds).ir(),
                          words, site),
          x.dtype()};
}

Value Scalar::load(Value tensor, ArrayRef<Value> indices) {
  SmallVector<mlir::Value> at;
  for (Value index : indices)
    at.push_back(toIndex(index));
  return fromMemory(tensor::ExtractOp::create(b, tensor.ir(), at),
                    tensor.dtype());
}

Value Scalar::size(int64_t size) {
  if (!isSymbolic(size))
    return size;
  OpFoldResult value = sizeValue(b, b.getLoc(), size);
  return fromIndex(b, cast<mlir::Value>(value));
}

/// Philox2x32-10 (Salmon et al., SC 2011): key and counter are the two halves
/// of each, the seed's high half going into the counter's. Words are the low
/// halves of 64 bits: a multiplier reads no more, so that none is cut between.
std::array<Value, 2> Scalar::philox(Value seed, Value counter) {
  auto wide = [&](uint32_t x) { return number(int64_t(x), DType::U64); };
  Value key = cast(seed, DType::U64), x = cast(counter, DType::U64);
  Value y = bitXor(shiftRight(x, 32), shiftRight(key, 32));
  for (int round = 0; round < 10; ++round) {
    Value product = mul(bitAnd(x, wide(0xFFFFFFFF)), wide(0xD256D193));
    x = bitXor(shiftRight(product, 32), bitXor(y, key));
    y = product;
    key = add(key, wide(0x9E3779B9));
  }
  return {cast(x, DType::U32), cast(y, DType::U32)};
}

/// 24 bits fit f32 exactly; signed conversion is one instruction.
static Value unitFloat(Scalar &s, Value word) {
  Value bits = s.cast(s.shiftRight(word, 8), DType::I32);
  return s.mul(s.cast(bits, DType::F32), 0x1p-24);
}

static Value unitDouble(Scalar &s, std::array<Value, 2> words) {
  Value bits = s.bitOr(s.shiftLeft(s.cast(words[0], DType::U64), 32),
                       s.cast(words[1], DType::U64));
  Value top = s.cast(s.shiftRight(bits, 11), DType::I64);
  return s.mul(s.cast(top, DType::F64), 0x1p-53);
}

Value Scalar::uniform(Value seed, Value counter, DType dtype) {
  std::array<Value, 2> words = philox(seed, counter);
  return dtype == DType::F64 ? unitDouble(*this, words)
                             : unitFloat(*this, words[0]);
}

std::array<Value, 2> Scalar::uniformPair(Value seed, Value counter,
                                         DType dtype) {
  if (dtype != DType::F64) {
    std::array<Value, 2> words = philox(seed, counter);
    return {unitFloat(*this, words[0]), unitFloat(*this, words[1])};
  }
  Value first = mul(counter, 2);
  return {uniform(seed, first, dtype), uniform(seed, add(first, 1), dtype)};
}

} // namespace ltc::compiler
