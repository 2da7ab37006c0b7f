//===- sizes.cpp - Which formula a `?` stands for ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/sizes.h"

#include "mlir_lowering/dialect/ltc_dialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ltc::compiler {

/// The formula of a size that nothing says: an ltc.size that has it does not
/// verify, which checkContract() makes sure of.
static constexpr StringLiteral kUnknown = "?";

/// Of a symbol of which no graph has said anything: in tests.
static constexpr int64_t kUnknownHint = 64;

int64_t SizeTable::size(const Formula &formula) {
  if (formula.isConstant())
    return formula.constant();
  auto found = llvm::find(formulas, formula);
  if (found == formulas.end())
    found = formulas.insert(found, formula);
  return symbolicSize(found - formulas.begin());
}

Formula SizeTable::formula(int64_t size) const {
  return isSymbolic(size) ? formulas[formulaNumber(size)] : Formula(size);
}

int64_t SizeTable::hint(const Formula &formula) const {
  std::vector<int64_t> values = hints;
  values.resize(std::max<size_t>(values.size(), formula.symbolCount()),
                kUnknownHint);
  return formula.evaluate(values).value_or(INT64_MAX);
}

int64_t SizeTable::hint(int64_t size) const {
  return isSymbolic(size) ? hint(formula(size)) : size;
}

SizeTable &sizeTable(MLIRContext *context) {
  return context->getOrLoadDialect<LtcDialect>()->sizes;
}

void readHints(Operation *module) {
  auto hints = module->getAttrOfType<DenseI64ArrayAttr>(LtcDialect::kSymbols);
  if (hints)
    sizeTable(module->getContext())
        .setHints(std::vector<int64_t>(hints.asArrayRef()));
}

using Compute = llvm::function_ref<Formula(Formula, Formula)>;

static int64_t fold(MLIRContext *context, ArrayRef<int64_t> sizes,
                    int64_t start, Compute compute) {
  SizeTable &table = sizeTable(context);
  Formula result(start);
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      return ShapedType::kDynamic;
    result = compute(result, table.formula(size));
  }
  return table.size(result);
}

int64_t productOf(MLIRContext *context, ArrayRef<int64_t> sizes) {
  return fold(context, sizes, 1, [](Formula a, Formula b) { return a * b; });
}

int64_t sumOf(MLIRContext *context, ArrayRef<int64_t> sizes) {
  return fold(context, sizes, 0, [](Formula a, Formula b) { return a + b; });
}

/// What canonicalization makes of a product of sizes.
static int64_t applied(AffineExpr expr, ArrayRef<int64_t> operands,
                       unsigned dims, MLIRContext *context) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[dims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t sides[] = {applied(binary.getLHS(), operands, dims, context),
                     applied(binary.getRHS(), operands, dims, context)};
  if (binary.getKind() == AffineExprKind::Add)
    return sumOf(context, sides);
  if (binary.getKind() == AffineExprKind::Mul)
    return productOf(context, sides);
  return ShapedType::kDynamic;
}

int64_t sizeOf(OpFoldResult size) {
  if (auto attribute = dyn_cast<Attribute>(size)) {
    if (auto symbolic = dyn_cast<SizeAttr>(attribute))
      return sizeTable(attribute.getContext())
          .size(*Formula::parse(symbolic.getFormula()));
    return cast<IntegerAttr>(attribute).getInt();
  }
  mlir::Value value = cast<mlir::Value>(size);
  MLIRContext *context = value.getContext();
  if (auto known = getConstantIntValue(value))
    return *known;
  if (auto op = value.getDefiningOp<SizeOp>())
    return op.getFormula() == kUnknown
               ? ShapedType::kDynamic
               : sizeTable(context).size(*Formula::parse(op.getFormula()));
  if (auto op = value.getDefiningOp<arith::MulIOp>())
    return productOf(context, {sizeOf(op.getLhs()), sizeOf(op.getRhs())});
  if (auto op = value.getDefiningOp<arith::AddIOp>())
    return sumOf(context, {sizeOf(op.getLhs()), sizeOf(op.getRhs())});
  if (auto op = value.getDefiningOp<memref::DimOp>())
    if (std::optional<int64_t> dim = op.getConstantIndex())
      return sizeOf(op.getSource(), *dim);
  if (auto op = value.getDefiningOp<tensor::DimOp>())
    if (std::optional<int64_t> dim = op.getConstantIndex())
      return sizeOf(op.getSource(), *dim);
  if (auto op = value.getDefiningOp<affine::AffineApplyOp>()) {
    SmallVector<int64_t> operands;
    for (mlir::Value operand : op.getMapOperands())
      operands.push_back(sizeOf(operand));
    return applied(op.getAffineMap().getResult(0), operands,
                   op.getAffineMap().getNumDims(), context);
  }
  return ShapedType::kDynamic;
}

/// The dimension of a slice's source that is dimension `dim` of its result.
template <typename Slice> static int64_t sourceDim(Slice slice, int64_t dim) {
  auto dropped = slice.getDroppedDims();
  for (int64_t at = 0;; ++at)
    if (!dropped.test(at) && dim-- == 0)
      return at;
}

static int64_t sizeSaid(ArrayAttr sizes, int64_t dim) {
  return sizes ? sizeOf(sizes[dim]) : ShapedType::kDynamic;
}

/// What an op with the attribute says of its results.
static int64_t sizeSaid(OpResult result, int64_t dim) {
  auto all = result.getOwner()->getAttrOfType<ArrayAttr>(LtcDialect::kSizes);
  return all ? sizeSaid(cast<ArrayAttr>(all[result.getResultNumber()]), dim)
             : ShapedType::kDynamic;
}

static int64_t sizeOf(BlockArgument argument, int64_t dim) {
  Operation *owner = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto function = dyn_cast_if_present<func::FuncOp>(owner))
    return sizeSaid(
        function.getArgAttrOfType<ArrayAttr>(number, LtcDialect::kSizes), dim);
  if (auto forall = dyn_cast_if_present<scf::ForallOp>(owner))
    if (OpOperand *shared = forall.getTiedOpOperand(argument))
      return sizeOf(shared->get(), dim);
  return ShapedType::kDynamic;
}

int64_t sizeOf(mlir::Value tensor, int64_t dim) {
  auto type = cast<ShapedType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return sizeOf(argument, dim);
  auto result = cast<OpResult>(tensor);
  return llvm::TypeSwitch<Operation *, int64_t>(result.getOwner())
      .Case<tensor::EmptyOp>(
          [&](auto op) { return sizeOf(op.getMixedSizes()[dim]); })
      .Case<tensor::ExpandShapeOp>(
          [&](auto op) { return sizeOf(op.getMixedOutputShape()[dim]); })
      .Case<tensor::CollapseShapeOp>([&](auto op) {
        SmallVector<int64_t> sizes;
        ReassociationIndices merged = op.getReassociationIndices()[dim];
        for (int64_t from : merged)
          sizes.push_back(sizeOf(op.getSrc(), from));
        return productOf(tensor.getContext(), sizes);
      })
      .Case<tensor::ExtractSliceOp, memref::SubViewOp>([&](auto op) {
        return sizeOf(op.getMixedSizes()[sourceDim(op, dim)]);
      })
      .Case<tensor::InsertSliceOp, tensor::InsertOp>(
          [&](auto op) { return sizeOf(op.getDest(), dim); })
      .Case<tensor::CastOp>(
          [&](auto op) { return sizeOf(op.getSource(), dim); })
      .Case<bufferization::ToTensorOp>(
          [&](auto op) { return sizeOf(op.getBuffer(), dim); })
      .Case<DestinationStyleOpInterface>([&](auto op) {
        return sizeOf(op.getTiedOpOperand(result)->get(), dim);
      })
      .Case<scf::ForallOp>([&](auto op) {
        return sizeOf(op.getTiedOpOperand(result)->get(), dim);
      })
      .Default([&](Operation *) { return sizeSaid(result, dim); });
}

SmallVector<int64_t> sizesOf(mlir::Value tensor) {
  SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < cast<ShapedType>(tensor.getType()).getRank();
       ++dim)
    sizes.push_back(sizeOf(tensor, dim));
  return sizes;
}

bool hasSymbolicSize(mlir::Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && !type.hasStaticShape();
}

OpFoldResult sizeValue(OpBuilder &b, Location loc, int64_t size) {
  bool isUnknown = ShapedType::isDynamic(size);
  if (!isSymbolic(size) && !isUnknown)
    return b.getIndexAttr(size);
  std::string formula = isUnknown
                            ? kUnknown.str()
                            : sizeTable(b.getContext()).formula(size).str();
  return SizeOp::create(b, loc, b.getIndexType(), formula).getResult();
}

SmallVector<OpFoldResult> sizeValues(OpBuilder &b, Location loc,
                                     ArrayRef<int64_t> sizes) {
  SmallVector<OpFoldResult> values;
  for (int64_t size : sizes)
    values.push_back(sizeValue(b, loc, size));
  return values;
}

RankedTensorType shapedAs(ArrayRef<int64_t> sizes, Type element) {
  SmallVector<int64_t> shape(sizes);
  for (int64_t &size : shape)
    if (isSymbolic(size))
      size = ShapedType::kDynamic;
  return RankedTensorType::get(shape, element);
}

Attribute sizeAttr(Builder b, int64_t size) {
  if (!isSymbolic(size))
    return b.getI64IntegerAttr(size);
  return SizeAttr::get(b.getContext(),
                       sizeTable(b.getContext()).formula(size).str());
}

ArrayAttr sizesAttr(Builder b, ArrayRef<int64_t> sizes) {
  SmallVector<Attribute> attributes;
  for (int64_t size : sizes)
    attributes.push_back(sizeAttr(b, size));
  return b.getArrayAttr(attributes);
}

SmallVector<int64_t> sizesIn(ArrayAttr sizes) {
  SmallVector<int64_t> values;
  for (Attribute size : sizes)
    values.push_back(sizeOf(OpFoldResult(size)));
  return values;
}

} // namespace ltc::compiler
