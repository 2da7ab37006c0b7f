//===- outline.cpp - Kernels out of @main -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/node_location.h"
#include "mlir_lowering/dialect/scatter_rows.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/groups.h"
#include "mlir_lowering/optimize/in_place.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

/// Follows reshapes, which share their source's memory.
Value storageOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The copy of a view is its node's, of anything else its user's.
GenericOp copyBefore(Operation *user, Value value) {
  OpBuilder b(user);
  bool isView = isa_and_nonnull<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                                tensor::CollapseShapeOp>(value.getDefiningOp());
  Location loc = isView ? value.getLoc() : user->getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  AffineMap id = b.getMultiDimIdentityMap(type.getRank());
  Value empty = tensor::EmptyOp::create(
      b, loc, sizeValues(b, loc, sizesOf(value)), type.getElementType());
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  return GenericOp::create(
      b, loc, type, value, empty, ArrayRef<AffineMap>{id, id}, parallel,
      [](OpBuilder &nested, Location inner, ValueRange args) {
        linalg::YieldOp::create(nested, inner, args[0]);
      });
}

/// Whether an op reads its operands as dense memory.
bool readsDense(Operation &op) {
  auto call = dyn_cast<CallOp>(op);
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
         (call && !CallOp::readsViews(call.getCallee()));
}

/// A slice is not dense: what reshapes it, and most kernels, work on a copy.
void separateSlices(func::FuncOp main) {
  for (Operation &op : llvm::make_early_inc_range(main.getBody().front()))
    if (readsDense(op))
      for (OpOperand &operand : op.getOpOperands())
        if (operand.get().getDefiningOp<tensor::ExtractSliceOp>())
          operand.set(copyBefore(&op, operand.get()).getResult(0));
}

/// A result needs memory of its own: copies what is an argument, a constant,
/// a slice, or returned twice. An argument that donates itself stays.
void separateResults(func::FuncOp main) {
  Operation *ret = main.getBody().front().getTerminator();
  llvm::SmallDenseSet<Value> taken;
  for (OpOperand &result : ret->getOpOperands()) {
    Value storage = storageOf(result.get());
    auto donated = main.getResultAttrOfType<IntegerAttr>(
        result.getOperandNumber(), "ltc.donates");
    auto argument = dyn_cast<BlockArgument>(storage);
    bool keeps = argument && donated &&
                 donated.getInt() == int64_t(argument.getArgNumber());
    bool owns =
        !argument &&
        !isa<tensor::ExtractSliceOp, arith::ConstantOp, tensor::EmptyOp>(
            storage.getDefiningOp());
    if (taken.insert(storage).second && (keeps || owns))
      continue;
    result.set(copyBefore(ret, result.get()).getResult(0));
  }
}

/// A part of a tensor is written by a loop of its own, if not by the one that
/// computes it (addToWriter in groups.cpp). What it is written to is no slice.
/// A scatter reads nothing of the tensor that it writes to.
void separateWrites(func::FuncOp main) {
  for (auto insert : llvm::to_vector(main.getOps<tensor::InsertSliceOp>())) {
    Value source = insert.getSource();
    bool isComputed = source.getDefiningOp<GenericOp>() && source.hasOneUse();
    if (insert.getDest().getDefiningOp<tensor::ExtractSliceOp>())
      insert.getDestMutable().assign(
          copyBefore(insert, insert.getDest()).getResult(0));
    if (!isComputed && insert.getSourceType().getRank() != 0)
      insert.getSourceMutable().assign(copyBefore(insert, source).getResult(0));
  }
  for (auto call : llvm::to_vector(main.getOps<CallOp>()))
    for (OpOperand &read : call.getInputsMutable())
      if (scatterRows(call) &&
          storageOf(read.get()) == storageOf(call.getOuts()[0]))
        read.set(copyBefore(call, read.get()).getResult(0));
}

/// Destinations whose contents nobody reads, as plain allocations.
void freshDestinations(GenericOp op) {
  OpBuilder b(op);
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.payloadUsesValueFromOperand(&init) &&
        !init.get().getDefiningOp<tensor::EmptyOp>())
      init.set(tensor::EmptyOp::create(
          b, op.getLoc(), sizeValues(b, op.getLoc(), sizesOf(init.get())),
          getElementTypeOrSelf(init.get())));
}

/// Gives each reduction fills of its own, next to it.
void privatizeFills(func::FuncOp main) {
  OpBuilder b(main.getContext());
  for (auto generic : llvm::to_vector(main.getOps<GenericOp>())) {
    freshDestinations(generic);
    for (OpOperand &init : generic.getDpsInitsMutable()) {
      Operation *fill = init.get().getDefiningOp();
      if (!fill || !isFill(fill) || !generic.payloadUsesValueFromOperand(&init))
        continue;
      b.setInsertionPoint(generic);
      Operation *own = b.clone(*fill);
      own->setAttr("ltc.private", b.getUnitAttr());
      init.set(own->getResult(0));
      if (fill->use_empty())
        fill->erase();
    }
  }
}

/// Upstream reads the sizes of a shape off other tensors.
void sayShape(tensor::ExpandShapeOp expand, ArrayRef<int64_t> sizes) {
  OpBuilder b(expand);
  SmallVector<Value> open;
  for (int64_t size : sizes)
    if (isSymbolic(size))
      open.push_back(cast<Value>(sizeValue(b, expand.getLoc(), size)));
  expand.getOutputShapeMutable().assign(open);
}

/// Whether an insert writes all of a dimension, and the one before without
/// gaps, so that the two are one in the tensor that it writes to.
bool writesAlong(tensor::InsertSliceOp insert, unsigned dim) {
  bool isDense = !insert.getDest().getDefiningOp<tensor::ExtractSliceOp>();
  return isDense && insert.getDestType().hasStaticShape() &&
         insert.getSourceType().getRank() == insert.getDestType().getRank() &&
         !ShapedType::isDynamic(insert.getStaticOffset(dim - 1)) &&
         insert.getStaticStride(dim - 1) == 1 &&
         insert.getStaticStride(dim) == 1 &&
         insert.getStaticSize(dim) == insert.getDestType().getDimSize(dim);
}

/// The same write, of a part whose dimensions are merged.
tensor::InsertSliceOp mergeDims(tensor::InsertSliceOp insert, Value part,
                                ArrayRef<ReassociationIndices> merged) {
  OpBuilder b(insert);
  Location loc = insert.getLoc();
  RankedTensorType type = insert.getDestType();
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> offsets, sizes,
      strides(merged.size(), b.getIndexAttr(1));
  for (const ReassociationIndices &dims : merged) {
    int64_t size = 1, inner = 1;
    for (int64_t dim : dims)
      size *= type.getDimSize(dim);
    for (int64_t dim : ArrayRef(dims).drop_front())
      inner *= type.getDimSize(dim);
    shape.push_back(size);
    if (dims.size() == 1) {
      offsets.push_back(insert.getMixedOffsets()[dims[0]]);
      sizes.push_back(insert.getMixedSizes()[dims[0]]);
      strides[shape.size() - 1] = insert.getMixedStrides()[dims[0]];
      continue;
    }
    offsets.push_back(b.getIndexAttr(insert.getStaticOffset(dims[0]) * inner));
    int64_t rows = sizeOf(insert.getMixedSizes()[dims[0]]);
    sizes.push_back(
        sizeValue(b, loc, productOf(b.getContext(), {rows, inner})));
  }
  Value whole = insert.getDest();
  if (whole.getDefiningOp<tensor::EmptyOp>())
    whole = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  else
    whole = tensor::CollapseShapeOp::create(b, loc, whole, merged);
  auto made = tensor::InsertSliceOp::create(b, loc, part, whole, offsets, sizes,
                                            strides);
  insert.replaceAllUsesWith(
      tensor::ExpandShapeOp::create(b, loc, type, made, merged).getResult());
  insert.erase();
  return made;
}

/// Merges dimensions that are neighbours in every operand.
void collapsePointwise(Group &group) {
  auto op = cast<GenericOp>(group.ops.front());
  auto insert = dyn_cast<tensor::InsertSliceOp>(group.ops.back());
  bool dense = llvm::none_of(op.getDpsInputs(), [](Value input) {
    return input.getDefiningOp<tensor::ExtractSliceOp>();
  });
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (op.getNumLoops() < 2 || op.hasIndexSemantics() || !dense ||
      (insert && (op->getNumResults() != 1 || !maps.back().isIdentity())))
    return;
  SmallVector<ReassociationIndices> merged{{0}};
  for (unsigned dim = 1; dim < op.getNumLoops(); ++dim) {
    ReassociationIndices both = merged.back();
    both.push_back(dim);
    if (linalg::areDimSequencesPreserved(maps, {both}) &&
        (!insert || writesAlong(insert, dim)))
      merged.back() = both;
    else
      merged.push_back({dim});
  }
  if (merged.size() == op.getNumLoops())
    return;
  IRRewriter rewriter(op.getContext());
  rewriter.setInsertionPoint(op);
  FailureOr<linalg::CollapseResult> collapsed =
      linalg::collapseOpIterationDims(op, merged, rewriter);
  if (failed(collapsed))
    return;
  for (auto [before, after] :
       llvm::zip_equal(op.getResults(), collapsed->results))
    if (auto expand = after.getDefiningOp<tensor::ExpandShapeOp>())
      sayShape(expand, sizesOf(before));
  rewriter.replaceOp(op, collapsed->results);
  auto made = cast<GenericOp>(collapsed->collapsedOp.getOperation());
  freshDestinations(made);
  group.ops.front() = made;
  if (insert) {
    group.ops.back() = mergeDims(insert, made.getResult(0), merged);
    rewriter.eraseOp(collapsed->results[0].getDefiningOp()); // read by none
  }
  for (auto [rows, units] : llvm::zip_equal(group.rows, group.units)) {
    rows = llvm::to_vector(llvm::seq<int64_t>(0, made.getNumLoops()));
    units.assign(rows.size(), 1);
  }
}

/// On a slice: that where it begins is for the caller of a kernel to say.
constexpr llvm::StringLiteral kOpen = "ltc.open";

/// What a loop in the program does with x[:, i] is one kernel for every i if
/// that is told where the slice begins. Marks slices of which a tensor has
/// several that differ in nothing else.
void openSlices(func::FuncOp main) {
  constexpr size_t several = 4;
  using Key = std::tuple<Value, Type, Attribute, Attribute>;
  llvm::MapVector<Key, SmallVector<tensor::ExtractSliceOp>> alike;
  for (auto slice : main.getOps<tensor::ExtractSliceOp>())
    alike[{slice.getSource(), slice.getType(), slice.getStaticSizesAttr(),
           slice.getStaticStridesAttr()}]
        .push_back(slice);
  for (auto &[key, slices] : alike)
    if (slices.size() >= several)
      for (tensor::ExtractSliceOp slice : slices)
        slice->setAttr(kOpen, UnitAttr::get(slice.getContext()));
}

/// Turns where a kernel's open slices begin into its last arguments; returns
/// what they are here.
SmallVector<int64_t> openOffsets(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<int64_t> begins;
  // What lies beside a part that is written is known by its offsets.
  bool writesPart = !body.getOps<tensor::InsertSliceOp>().empty();
  ImplicitLocOpBuilder b(kernel.getLoc(), kernel.getContext());
  for (auto slice : body.getOps<tensor::ExtractSliceOp>()) {
    if (!slice->removeAttr(kOpen) || writesPart)
      continue;
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    b.setInsertionPoint(slice);
    for (auto [dim, offset] : llvm::enumerate(offsets)) {
      std::optional<int64_t> begin = getConstantIntValue(offset);
      if (!begin ||
          slice.getStaticSize(dim) == slice.getSourceType().getDimSize(dim))
        continue;
      unsigned number = kernel.getNumArguments();
      (void)kernel.insertArgument(number, b.getI64Type(), {}, b.getLoc());
      offset = arith::IndexCastOp::create(b, b.getIndexType(),
                                          kernel.getArgument(number))
                   .getResult();
      begins.push_back(*begin);
    }
    SmallVector<int64_t> fixed;
    SmallVector<Value> open;
    dispatchIndexOpFoldResults(offsets, open, fixed);
    slice.getOffsetsMutable().assign(open);
    slice.setStaticOffsets(fixed);
  }
  return begins;
}

/// Producers that a kernel takes along instead of reading their result. The
/// list of steps that @main becomes computes nothing: a kernel does it for
/// itself.
bool movesAlong(Operation *op) {
  if (op && isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return bool(storageOf(op->getResult(0)).getDefiningOp<tensor::EmptyOp>());
  if (!op || isa<tensor::EmptyOp, tensor::ExtractSliceOp, tensor::ExtractOp,
                 arith::ConstantOp, SizeOp>(op))
    return op;
  auto isTensor = llvm::IsaPred<mlir::TensorType>;
  return (isMemoryEffectFree(op) || isa<CheckOp, CheckDivisorOp>(op)) &&
         llvm::none_of(op->getOperandTypes(), isTensor) &&
         llvm::none_of(op->getResultTypes(), isTensor);
}

class Outliner {
public:
  Outliner(func::FuncOp main, const OptimizeOptions &options)
      : optimizations(options.optimizations), facts(options.tuning.facts),
        module(main->getParentOfType<ModuleOp>()), main(main) {}

  void run() {
    separateSlices(main);
    separateResults(main);
    separateWrites(main);
    openSlices(main);
    privatizeFills(main);
    SmallVector<Group> groups = findGroups(main, optimizations.group, facts);
    for (Group &group : groups) {
      size_t loops = llvm::count_if(group.ops, llvm::IsaPred<GenericOp>);
      if (group.kind == kind::kPointwise && loops == 1)
        collapsePointwise(group);
      outline(group);
    }
    for (CallOp call : llvm::make_early_inc_range(main.getOps<CallOp>()))
      if (scatterRows(call)) {
        Group alone{{call}, {{}}, {{}}, kind::kPointwise};
        outline(alone);
      }
    IRRewriter rewriter(main.getContext());
    (void)runRegionDCE(rewriter, main->getRegions());
  }

private:
  void collect(Operation *op, llvm::SetVector<Value> &inputs,
               llvm::SetVector<Operation *> &along,
               const llvm::SmallPtrSetImpl<Operation *> &inside) {
    auto visit = [&](Value value) {
      Operation *def = value.getDefiningOp();
      if (def && inside.contains(def))
        return;
      if (movesAlong(def)) {
        collect(def, inputs, along, inside);
        along.insert(def);
      } else {
        inputs.insert(value);
      }
    };
    for (Value operand : op->getOperands())
      visit(operand);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      visit(value);
  }

  void outline(Group &group) {
    llvm::SmallPtrSet<Operation *, 8> inside(group.ops.begin(),
                                             group.ops.end());
    llvm::SetVector<Value> inputs;
    llvm::SetVector<Operation *> along;
    SmallVector<Value> outputs;
    for (Operation *op : group.ops) {
      collect(op, inputs, along, inside);
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              Operation *top =
                  main.getBody().front().findAncestorOpInBlock(*user);
              return !inside.contains(top);
            }))
          outputs.push_back(result);
    }
    Operation *last = group.ops.back();
    OpBuilder b(last);
    auto type = b.getFunctionType(TypeRange(ValueRange(inputs.getArrayRef())),
                                  TypeRange(ValueRange(outputs)));
    auto kernel = func::FuncOp::create(last->getLoc(), "kernel", type);
    kernel.setPrivate();
    for (auto [i, input] : llvm::enumerate(inputs))
      if (hasSymbolicSize(input))
        kernel.setArgAttr(i, LtcDialect::kSizes, sizesAttr(b, sizesOf(input)));
    SmallVector<Attribute> outputSizes;
    for (Value output : outputs)
      outputSizes.push_back(sizesAttr(b, sizesOf(output)));
    bool isDynamic = llvm::any_of(outputs, hasSymbolicSize);
    fill(kernel, group, inputs.getArrayRef(), along.getArrayRef(), outputs);
    SmallVector<Value> operands(inputs.getArrayRef());
    for (int64_t begin : openOffsets(kernel))
      operands.push_back(arith::ConstantIntOp::create(b, last->getLoc(),
                                                      b.getI64Type(), begin));
    kernel = unique(kernel);

    auto call = func::CallOp::create(b, atNodesOf(last->getLoc(), group.ops),
                                     kernel, operands);
    if (isDynamic)
      call->setAttr(LtcDialect::kSizes, b.getArrayAttr(outputSizes));
    for (auto [output, result] : llvm::zip_equal(outputs, call.getResults()))
      output.replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
  }

  void fill(func::FuncOp kernel, const Group &group, ArrayRef<Value> inputs,
            ArrayRef<Operation *> along, ArrayRef<Value> outputs) {
    Block *entry = kernel.addEntryBlock();
    OpBuilder b = OpBuilder::atBlockEnd(entry);
    IRMapping map;
    map.map(inputs, entry->getArguments());
    for (Operation *op : along)
      b.clone(*op, map);
    int64_t work = 0;
    for (auto [op, rows, units] :
         llvm::zip_equal(group.ops, group.rows, group.units)) {
      Operation *clone = b.clone(*op, map);
      clone->removeAttr("ltc.private");
      if (auto generic = dyn_cast<GenericOp>(op)) {
        clone->setAttr(attr::kRows, b.getDenseI64ArrayAttr(rows));
        clone->setAttr(attr::kUnits, b.getDenseI64ArrayAttr(units));
        work += iterations(generic) *
                (pointCost(generic) + generic->getNumOperands());
      } else if (group.kind == kind::kSerial || scatterRows(op)) {
        work += op->getNumResults() ? 4 * elementCount(op->getResult(0)) : 4;
      }
    }
    SmallVector<Value> results;
    for (Value output : outputs)
      results.push_back(map.lookup(output));
    func::ReturnOp::create(b, kernel.getLoc(), results);
    kernel->setAttr(attr::kKind, b.getStringAttr(group.kind));
    kernel->setAttr(attr::kWork, b.getI64IntegerAttr(work));
    markSharedBuffers(kernel, optimizations.in_place);
  }

  /// The kernel that is equal to this one, or this one, named.
  func::FuncOp unique(func::FuncOp kernel) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel.print(stream, OpPrintingFlags().useLocalScope());
    func::FuncOp &known = kernels[text];
    if (known) {
      kernel.erase();
      return known;
    }
    kernel.setName(("kernel_" + Twine(kernels.size() - 1)).str());
    module.push_back(kernel);
    return known = kernel;
  }

  const Optimizations &optimizations;
  const TargetFacts &facts;
  ModuleOp module;
  func::FuncOp main;
  llvm::StringMap<func::FuncOp> kernels;
};

} // namespace

LogicalResult outlineKernels(func::FuncOp main,
                             const OptimizeOptions &options) {
  Outliner(main, options).run();
  return success();
}

} // namespace ltc::compiler
