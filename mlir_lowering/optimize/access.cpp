//===- access.cpp - How a linalg op on memrefs reaches memory ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/access.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

/// A memref as flat memory: base, offset and strides.
struct Flat {
  Value base, offset;
  SmallVector<int64_t> strides;
  SmallVector<Value> dynamic;
};

Flat flatten(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Flat flat;
  int64_t offset;
  (void)type.getStridesAndOffset(flat.strides, offset);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  flat.dynamic.resize(flat.strides.size());
  for (auto [i, stride] : llvm::enumerate(flat.strides))
    if (ShapedType::isDynamic(stride))
      flat.dynamic[i] = metadata.getStrides()[i];
  flat.offset = ShapedType::isDynamic(offset)
                    ? Value(metadata.getOffset())
                    : arith::ConstantIndexOp::create(b, offset).getResult();
  auto flatType =
      MemRefType::get({ShapedType::kDynamic}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  Value size = arith::ConstantIndexOp::create(b, INT32_MAX);
  flat.base = memref::ReinterpretCastOp::create(
      b, flatType, metadata.getBaseBuffer(), OpFoldResult(b.getIndexAttr(0)),
      ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  return flat;
}

/// expr = constant + sum of coefficients[d] * d; false if it is not.
bool decompose(AffineExpr expr, int64_t factor,
               MutableArrayRef<int64_t> coefficients, int64_t &constant) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    coefficients[dim.getPosition()] += factor;
    return true;
  }
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    constant += factor * value.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return decompose(binary.getLHS(), factor, coefficients, constant) &&
           decompose(binary.getRHS(), factor, coefficients, constant);
  auto right = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Mul && right &&
         decompose(binary.getLHS(), factor * right.getValue(), coefficients,
                   constant);
}

Value stridedBy(ImplicitLocOpBuilder &b, const Flat &flat, unsigned dim) {
  return flat.dynamic[dim]
             ? flat.dynamic[dim]
             : arith::ConstantIndexOp::create(b, flat.strides[dim]).getResult();
}

Access accessOf(ImplicitLocOpBuilder &b, GenericOp op, OpOperand &operand) {
  Access access;
  unsigned loops = op.getNumLoops();
  access.strides.assign(loops, 0);
  access.dynamic.resize(loops);
  if (!isa<MemRefType>(operand.get().getType())) {
    access.base = operand.get();
    access.isScalar = true;
    return access;
  }
  Flat flat = flatten(b, operand.get());
  access.base = flat.base;
  access.offset = flat.offset;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    SmallVector<int64_t> coefficients(loops, 0);
    int64_t constant = 0;
    if (!decompose(expr, 1, coefficients, constant)) {
      access.general = map;
      for (unsigned d = 0; d < map.getNumResults(); ++d)
        access.generalStrides.push_back(stridedBy(b, flat, d));
      // Loops it depends on are neither merged nor vectorised.
      for (unsigned d = 0; d < loops; ++d)
        access.strides[d] = map.isFunctionOfDim(d) ? ShapedType::kDynamic : 0;
      access.dynamic.assign(loops, Value());
      return access;
    }
    if (constant) {
      Value step =
          arith::MulIOp::create(b, stridedBy(b, flat, i),
                                arith::ConstantIndexOp::create(b, constant));
      access.offset = arith::AddIOp::create(b, access.offset, step);
    }
    for (unsigned d = 0; d < loops; ++d) {
      if (coefficients[d] == 0)
        continue;
      if (!flat.dynamic[i] && !access.dynamic[d]) {
        access.strides[d] += coefficients[d] * flat.strides[i];
        continue;
      }
      Value term = arith::MulIOp::create(
          b, stridedBy(b, flat, i),
          arith::ConstantIndexOp::create(b, coefficients[d]));
      Value so = access.dynamic[d]
                     ? access.dynamic[d]
                     : arith::ConstantIndexOp::create(b, access.strides[d])
                           .getResult();
      access.dynamic[d] = arith::AddIOp::create(b, so, term);
      access.strides[d] = ShapedType::kDynamic;
    }
  }
  return access;
}

void dropLoop(Nest &nest, unsigned loop) {
  nest.loops.erase(nest.loops.begin() + loop);
  for (Access &access : nest.accesses) {
    access.strides.erase(access.strides.begin() + loop);
    access.dynamic.erase(access.dynamic.begin() + loop);
  }
  for (int &of : nest.loopOf)
    of = of == int(loop) ? -1 : of > int(loop) ? of - 1 : of;
}

/// Whether `inner` continues through memory where `outer` steps.
bool mergeable(const Nest &nest, unsigned outer, unsigned inner) {
  if (nest.loops[outer].reduction != nest.loops[inner].reduction ||
      ShapedType::isDynamic(nest.loops[inner].extent) ||
      ShapedType::isDynamic(nest.loops[outer].extent))
    return false;
  return llvm::all_of(nest.accesses, [&](const Access &access) {
    return !ShapedType::isDynamic(access.strides[outer]) &&
           !ShapedType::isDynamic(access.strides[inner]) &&
           access.strides[outer] ==
               access.strides[inner] * nest.loops[inner].extent;
  });
}

} // namespace

Nest analyzeNest(ImplicitLocOpBuilder &b, GenericOp op) {
  Nest nest;
  for (OpOperand &operand : op->getOpOperands())
    nest.accesses.push_back(accessOf(b, op, operand));

  auto iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<AffineExpr> dims;
  for (auto [d, iterator] : llvm::enumerate(iterators)) {
    nest.loops.push_back(
        {extents[d], Value(), (iterator == utils::IteratorType::reduction)});
    nest.loopOf.push_back(int(d));
  }
  for (auto [d, loop] : llvm::enumerate(nest.loops)) {
    if (!ShapedType::isDynamic(loop.extent))
      continue;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (auto position = map.getResultPosition(b.getAffineDimExpr(d));
          position && isa<MemRefType>(operand.get().getType())) {
        loop.size = memref::DimOp::create(b, operand.get(), *position);
        break;
      }
    }
  }
  bool general = llvm::any_of(nest.accesses,
                              [](const Access &a) { return bool(a.general); });
  for (unsigned d = nest.loops.size(); d-- > 0 && !general;)
    if (nest.loops[d].extent == 1)
      dropLoop(nest, d);
  if (op.hasIndexSemantics() || general)
    return nest;
  for (unsigned d = nest.loops.size(); d-- > 1;) {
    if (!mergeable(nest, d - 1, d))
      continue;
    nest.loops[d].extent *= nest.loops[d - 1].extent;
    dropLoop(nest, d - 1);
  }
  return nest;
}

} // namespace ltc::compiler
