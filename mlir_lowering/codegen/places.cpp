//===- places.cpp - Where the operands of a step are ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/places.h"

#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {

static SmallVector<int64_t> sizesOf(ArrayRef<OpFoldResult> values) {
  SmallVector<int64_t> sizes;
  for (OpFoldResult value : values)
    sizes.push_back(compiler::sizeOf(value));
  return sizes;
}

/// A memref's sizes, of which the open ones are given.
static SmallVector<int64_t> sizesOf(MemRefType type, ValueRange open) {
  SmallVector<int64_t> sizes = llvm::to_vector(type.getShape());
  for (int64_t &size : sizes)
    if (ShapedType::isDynamic(size)) {
      size = compiler::sizeOf(OpFoldResult(open.front()));
      open = open.drop_front();
    }
  return sizes;
}

/// Makes a place dense memory of these sizes.
static Place dense(Place place, SmallVector<int64_t> sizes,
                   MLIRContext *context) {
  place.strides.assign(sizes.size(), 1);
  for (size_t dim = sizes.size(); dim-- > 1;)
    place.strides[dim - 1] =
        productOf(context, {place.strides[dim], sizes[dim]});
  place.sizes = std::move(sizes);
  return place;
}

static Place subview(Place source, memref::SubViewOp view) {
  MLIRContext *context = view.getContext();
  SmallVector<int64_t> offsets = sizesOf(view.getMixedOffsets()),
                       sizes = sizesOf(view.getMixedSizes()),
                       strides = sizesOf(view.getMixedStrides());
  llvm::SmallBitVector dropped = view.getDroppedDims();
  Place place = {source.base,   source.index, source.begin,
                 source.offset, {},           {}};
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    int64_t skipped = productOf(context, {offsets[dim], source.strides[dim]});
    place.offset = sumOf(context, {place.offset, skipped});
    if (dropped.test(dim))
      continue;
    place.sizes.push_back(sizes[dim]);
    place.strides.push_back(
        productOf(context, {source.strides[dim], strides[dim]}));
  }
  return place;
}

Places::Places(func::FuncOp main, Artifact &artifact)
    : main(main), artifact(artifact) {
  auto donated = main->getAttrOfType<DenseI64ArrayAttr>(attr::kDonated);
  for (auto [number, argument] : llvm::enumerate(donated.asArrayRef()))
    if (argument < 0)
      results.push_back(uint32_t(number));
  inputs = main.getNumArguments() - results.size() -
           main->getAttrOfType<ArrayAttr>(attr::kArena).size();
  for (auto [number, formula] : llvm::enumerate(artifact.formulas))
    formulas[formula.str()] = symbolicSize(uint32_t(number));
}

Place Places::placeOf(BlockArgument argument) {
  size_t number = argument.getArgNumber();
  Place place = {LTC_INPUT, uint32_t(number), 0, 0, {}, {}};
  if (number >= inputs + results.size())
    place = {LTC_ARENA, uint32_t(number - inputs - results.size()), 0, 0, {},
             {}};
  else if (number >= inputs)
    place = {LTC_RESULT, results[number - inputs], 0, 0, {}, {}};
  auto type = cast<MemRefType>(argument.getType());
  auto open =
      main.getArgAttrOfType<ArrayAttr>(unsigned(number), LtcDialect::kSizes);
  return dense(std::move(place),
               open ? sizesIn(open) : llvm::to_vector(type.getShape()),
               main.getContext());
}

Place Places::of(Value memref) {
  if (auto argument = dyn_cast<BlockArgument>(memref))
    return placeOf(argument);
  Operation *op = memref.getDefiningOp();
  Place source = of(op->getOperand(0));
  if (auto view = dyn_cast<memref::SubViewOp>(op))
    return subview(std::move(source), view);
  if (auto view = dyn_cast<memref::ViewOp>(op)) {
    int64_t shift = compiler::sizeOf(OpFoldResult(view.getByteShift()));
    source.begin = sumOf(op->getContext(), {source.begin, shift});
    source.offset = 0;
    return dense(std::move(source), sizesOf(view.getType(), view.getSizes()),
                 op->getContext());
  }
  if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op)) {
    source.offset = sizesOf(cast.getMixedOffsets()).front();
    source.sizes = sizesOf(cast.getMixedSizes());
    source.strides = sizesOf(cast.getMixedStrides());
    return source;
  }
  if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
    Place moved = source;
    for (auto [to, expr] :
         llvm::enumerate(transpose.getPermutation().getResults())) {
      unsigned from = cast<AffineDimExpr>(expr).getPosition();
      moved.sizes[to] = source.sizes[from];
      moved.strides[to] = source.strides[from];
    }
    return moved;
  }
  return source; // memref.cast
}

int64_t Places::amountOf(Value memref, const Place &place) {
  MLIRContext *context = memref.getContext();
  auto type = cast<MemRefType>(memref.getType());
  int64_t bytes = elementBytes(type.getElementType());
  return sumOf(context,
               {place.begin, productOf(context, {place.offset, bytes})});
}

int64_t Places::alignment(Value memref, int64_t most) {
  int64_t amount = amountOf(memref, of(memref));
  if (ShapedType::isDynamic(amount))
    return 1;
  // A polynomial is a multiple of its content, whatever the symbols are.
  int64_t all =
      most | (isSymbolic(amount)
                  ? sizeTable(main.getContext()).formula(amount).content()
                  : amount);
  return all & -all;
}

FailureOr<ltc_word> Places::word(Value value) {
  if (auto type = dyn_cast<MemRefType>(value.getType())) {
    Place place = of(value);
    int64_t amount = amountOf(value, place);
    if (ShapedType::isDynamic(amount))
      return failure();
    return ltc_word{place.base, place.index, number(amount)};
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ltc_word{LTC_INPUT, argument.getArgNumber(), 0};
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    return word(cast.getIn());
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      return ltc_word{LTC_NUMBER, 0,
                      std::bit_cast<int64_t>(real.getValueAsDouble())};
  int64_t size = compiler::sizeOf(OpFoldResult(value));
  if (ShapedType::isDynamic(size))
    return failure();
  return ltc_word{LTC_NUMBER, 0, number(size)};
}

int64_t Places::number(int64_t size) {
  if (!isSymbolic(size))
    return size;
  Formula formula = sizeTable(main.getContext()).formula(size);
  auto [known, isNew] = formulas.try_emplace(
      formula.str(), symbolicSize(uint32_t(artifact.formulas.size())));
  if (isNew)
    artifact.formulas.push_back(std::move(formula));
  return known->second;
}

} // namespace ltc::compiler
