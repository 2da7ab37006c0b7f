//===- boundary.cpp - @main and kernel boundaries on memrefs ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/arena.h"
#include "mlir_lowering/optimize/in_place.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/optimize/plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

Type bufferType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? MemRefType::get(tensor.getShape(), tensor.getElementType())
                : type;
}

/// result number -> argument number, for results that are an argument's memory
llvm::SmallDenseMap<int64_t, int64_t> updatesOf(func::FuncOp kernel) {
  llvm::SmallDenseMap<int64_t, int64_t> map;
  auto pairs =
      kernel->getAttrOfType<DenseI64ArrayAttr>(attr::kUpdates).asArrayRef();
  for (; !pairs.empty(); pairs = pairs.drop_front(2))
    map[pairs[1]] = pairs[0];
  return map;
}

class MainRewriter {
public:
  MainRewriter(func::FuncOp main, const BufferPlan &plan)
      : main(main), plan(plan), b(main.getContext()) {}

  LogicalResult run() {
    Block *old = &main.getBody().front();
    Operation *ret = old->getTerminator();
    SmallVector<Type> types;
    SmallVector<Attribute> sizes; // of each argument
    auto addArgument = [&](Value tensor) {
      types.push_back(bufferType(tensor.getType()));
      sizes.push_back(hasSymbolicSize(tensor) ? sizesAttr(b, sizesOf(tensor))
                                              : ArrayAttr());
    };
    for (BlockArgument argument : old->getArguments())
      addArgument(argument);
    for (OpOperand &result : ret->getOpOperands())
      if (!main.getResultAttr(result.getOperandNumber(), LtcDialect::kDonates))
        addArgument(result.get());
    firstPart = types.size();
    SmallVector<int64_t> arena{plan.arenaBytes};
    for (const Formula &slot : plan.slots)
      arena.push_back(sizeTable(b.getContext()).size(slot));
    for (int64_t bytes : arena)
      types.push_back(MemRefType::get(
          {isSymbolic(bytes) ? ShapedType::kDynamic : bytes}, b.getI8Type()));

    entry = new Block;
    entry->addArguments(types,
                        SmallVector<Location>(types.size(), main.getLoc()));
    b.setInsertionPointToStart(entry);
    map.map(old->getArguments(),
            entry->getArguments().take_front(old->getNumArguments()));
    for (Operation &op : old->without_terminator())
      if (failed(rewrite(&op)))
        return failure();
    for (auto [value, argument] : plan.finalCopies)
      memref::CopyOp::create(b, ret->getLoc(), map.lookup(value),
                             entry->getArgument(argument))
          ->setAttr(attr::kWritesDonated, b.getUnitAttr());
    func::ReturnOp::create(b, ret->getLoc());

    old->dropAllReferences();
    old->dropAllDefinedValueUses();
    main.getBody().getBlocks().clear();
    main.getBody().push_back(entry);
    main->setAttr(attr::kDonated, b.getDenseI64ArrayAttr(plan.donated));
    main->setAttr(attr::kArena, sizesAttr(b, arena));
    main->removeAttr(main.getResAttrsAttrName());
    main->removeAttr(main.getArgAttrsAttrName());
    main.setType(b.getFunctionType(types, {}));
    for (auto [i, list] : llvm::enumerate(sizes))
      if (list)
        main.setArgAttr(i, LtcDialect::kSizes, list);
    return success();
  }

private:
  /// The memory of a value that a kernel or a library call defines.
  Value memoryOf(Value value) {
    const Storage &storage = plan.of(value);
    auto type = cast<MemRefType>(bufferType(value.getType()));
    if (storage.place != Storage::Arena)
      return reshaped(entry->getArgument(storage.argument), value);
    bool isOpen = !storage.bytes.isConstant();
    Value part =
        entry->getArgument(firstPart + (isOpen ? 1 + storage.slot : 0));
    Value offset = arith::ConstantIndexOp::create(b, value.getLoc(),
                                                  isOpen ? 0 : storage.offset);
    return memref::ViewOp::create(b, value.getLoc(), type, part, offset,
                                  openSizes(value));
  }

  /// The symbolic ones of a tensor's sizes.
  SmallVector<Value> openSizes(Value tensor) {
    SmallVector<Value> open;
    auto type = cast<ShapedType>(tensor.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        open.push_back(
            cast<Value>(sizeValue(b, tensor.getLoc(), sizeOf(tensor, dim))));
    return open;
  }

  /// Dense memory in the shape of a tensor.
  Value reshaped(Value memory, Value tensor) {
    auto type = cast<MemRefType>(bufferType(tensor.getType()));
    if (memory.getType() == type && type.hasStaticShape())
      return memory;
    if (type.hasStaticShape())
      // Not getStridesAndOffset, which calls some strides of an empty tensor
      // dynamic.
      return memref::ReinterpretCastOp::create(
          b, memory.getLoc(), type, memory, /*offset=*/0, type.getShape(),
          computeSuffixProduct(type.getShape()));
    SmallVector<int64_t> sizes = sizesOf(tensor), strides(sizes.size(), 1);
    for (size_t dim = sizes.size(); dim-- > 1;)
      strides[dim - 1] = productOf(b.getContext(), {strides[dim], sizes[dim]});
    Location loc = memory.getLoc();
    return memref::ReinterpretCastOp::create(
        b, loc, type, memory, b.getIndexAttr(0), sizeValues(b, loc, sizes),
        sizeValues(b, loc, strides));
  }

  LogicalResult rewrite(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<func::CallOp>([&](auto call) { return rewriteKernel(call); })
        .Case<CallOp>([&](auto call) { return rewriteLibrary(call); })
        .Case<tensor::EmptyOp>([&](auto) { return success(); })
        .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([&](auto view) {
          // Nothing is known of a view that nobody reads.
          if (Value source = map.lookupOrNull(view.getSrc()))
            map.map(view.getResult(), reshaped(source, view.getResult()));
          return success();
        })
        .Case<tensor::ExtractSliceOp>(
            [&](auto slice) { return subview(slice); })
        .Case<tensor::ExtractOp>([&](auto extract) {
          SmallVector<Value> indices;
          for (Value index : extract.getIndices())
            indices.push_back(map.lookup(index));
          map.map(extract.getResult(),
                  memref::LoadOp::create(
                      b, op->getLoc(), map.lookup(extract.getTensor()), indices)
                      .getResult());
          return success();
        })
        .Default([&](Operation *) -> LogicalResult {
          if (llvm::any_of(op->getResultTypes(),
                           llvm::IsaPred<mlir::TensorType>) ||
              llvm::any_of(op->getOperandTypes(),
                           llvm::IsaPred<mlir::TensorType>))
            return op->emitError("no memory was planned for this op");
          b.clone(*op, map);
          return success();
        });
  }

  LogicalResult subview(tensor::ExtractSliceOp slice) {
    auto mapped = [&](SmallVector<OpFoldResult> values) {
      for (OpFoldResult &value : values)
        if (auto v = dyn_cast<Value>(value))
          value = map.lookup(v);
      return values;
    };
    auto offsets = mapped(slice.getMixedOffsets());
    auto sizes = mapped(slice.getMixedSizes());
    auto strides = mapped(slice.getMixedStrides());
    Value source = map.lookup(slice.getSource());
    auto type = memref::SubViewOp::inferRankReducedResultType(
        slice.getType().getShape(), cast<MemRefType>(source.getType()), offsets,
        sizes, strides);
    map.map(slice.getResult(),
            memref::SubViewOp::create(b, slice.getLoc(), cast<MemRefType>(type),
                                      source, offsets, sizes, strides)
                .getResult());
    return success();
  }

  LogicalResult rewriteKernel(func::CallOp call) {
    auto kernel = cast<func::FuncOp>(
        SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr()));
    auto updates = updatesOf(kernel);
    SmallVector<Value> operands, results;
    for (Value operand : call.getOperands())
      if (operands.emplace_back(map.lookupOrNull(operand)); !operands.back())
        return call.emitError(
            "no memory was planned for an operand of this kernel");
    for (auto [i, result] : llvm::enumerate(call.getResults())) {
      Value memory = memoryOf(result);
      map.map(result, memory);
      auto update = updates.find(i);
      if (update != updates.end())
        operands[update->second] = memory;
      else
        results.push_back(memory);
    }
    for (const BufferPlan::Copy &copy : plan.copies)
      if (copy.call == call)
        noteDonated(
            memref::CopyOp::create(b, call.getLoc(),
                                   map.lookup(call.getOperand(copy.argument)),
                                   map.lookup(call.getResult(copy.result))),
            call->getResult(copy.result));
    llvm::append_range(operands, results);
    noteDonated(func::CallOp::create(b, call.getLoc(), call.getCallee(),
                                     TypeRange(), operands),
                call.getResults());
    return success();
  }

  /// Marks what writes `results` on memrefs if one lies in an argument.
  void noteDonated(Operation *writer, ValueRange results) {
    if (llvm::any_of(results, [&](Value result) {
          return plan.of(result).place == Storage::Argument;
        }))
      writer->setAttr(attr::kWritesDonated, b.getUnitAttr());
  }

  LogicalResult rewriteLibrary(CallOp call) {
    SmallVector<Value> inputs, outs;
    for (auto [i, input] : llvm::enumerate(call.getInputs())) {
      Value value = input.getDefiningOp<tensor::EmptyOp>() ? memoryOf(input)
                                                           : map.lookup(input);
      ArrayRef<int64_t> order = call.permutationOf(i);
      if (!order.empty())
        value = memref::TransposeOp::create(
            b, call.getLoc(), value,
            AffineMapAttr::get(
                AffineMap::getPermutationMap(order, b.getContext())));
      inputs.push_back(value);
    }
    for (Value result : call.getResults()) {
      Value memory = memoryOf(result);
      map.map(result, memory);
      outs.push_back(memory);
    }
    auto onMemory =
        CallOp::create(b, call.getLoc(), TypeRange(), call.getCalleeAttr(),
                       call.getNamesAttr(), call.getValuesAttr(),
                       call.getOperandDtypesAttr(), call.getResultDtypesAttr(),
                       call.getNodeAttr(), ArrayAttr(), inputs, outs);
    if (llvm::any_of(call->getOperands(), hasSymbolicSize))
      onMemory->setAttr(LtcDialect::kSizes, operandSizes(call));
    if (plan.isSpoilt(call))
      onMemory->setAttr(attr::kSpoils, b.getUnitAttr());
    return success();
  }

  /// The sizes of a call's inputs, as it sees them, and destinations.
  ArrayAttr operandSizes(CallOp call) {
    SmallVector<Attribute> all;
    for (auto [i, operand] : llvm::enumerate(call->getOperands())) {
      if (!isa<ShapedType>(operand.getType())) {
        all.push_back(b.getArrayAttr({}));
        continue;
      }
      SmallVector<int64_t> sizes = sizesOf(operand);
      if (i < call.getInputs().size())
        if (ArrayRef<int64_t> order = call.permutationOf(i); !order.empty())
          sizes = applyPermutation(ArrayRef<int64_t>(sizes), order);
      all.push_back(sizesAttr(b, sizes));
    }
    return b.getArrayAttr(all);
  }

  func::FuncOp main;
  const BufferPlan &plan;
  OpBuilder b;
  Block *entry = nullptr;
  IRMapping map;
  unsigned firstPart = 0; ///< of the arguments: the arena's first
};

/// The parallel loop writes its results, or parts of them, in their memory.
void writeWhereWanted(OpBuilder &b, Value result, Value memory) {
  auto forall = result.getDefiningOp<scf::ForallOp>();
  auto insert = result.getDefiningOp<tensor::InsertSliceOp>();
  bool intoNew = insert && insert.getDest().getDefiningOp<tensor::EmptyOp>();
  if (!forall && !intoNew)
    return;
  auto tensor = bufferization::ToTensorOp::create(
      b, result.getLoc(), result.getType(), memory, true, true);
  if (forall)
    forall.getTiedOpOperand(cast<OpResult>(result))->set(tensor);
  else
    insert.getDest().replaceAllUsesWith(tensor);
}

/// (tensors) -> tensors becomes (memrefs, result memrefs); the body stays on
/// tensors between to_tensor and materialize_in_destination.
void rewriteKernel(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *ret = body.getTerminator();
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  auto updates = updatesOf(kernel);
  SmallVector<Type> types;
  SmallVector<Attribute> sizes; // of each argument
  for (BlockArgument argument : body.getArguments()) {
    sizes.push_back(
        kernel.getArgAttr(argument.getArgNumber(), LtcDialect::kSizes));
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (tensor) {
      argument.setType(cast<MemRefType>(bufferType(tensor)));
      bool writable = llvm::any_of(updates, [&](auto pair) {
        return pair.second == int64_t(argument.getArgNumber());
      });
      auto value = bufferization::ToTensorOp::create(
          b, kernel.getLoc(), tensor, argument, /*restrict=*/true, writable);
      argument.replaceAllUsesExcept(value, value);
      for (auto [result, updated] : updates)
        if (updated == int64_t(argument.getArgNumber()))
          separateReads(b, value, ret->getOperand(result));
    }
    types.push_back(argument.getType());
  }
  for (OpOperand &result : ret->getOpOperands()) {
    Type type = bufferType(result.get().getType());
    auto update = updates.find(result.getOperandNumber());
    Value memory = update != updates.end()
                       ? Value(body.getArgument(update->second))
                       : Value(body.addArgument(type, kernel.getLoc()));
    if (update == updates.end()) {
      types.push_back(type);
      sizes.push_back(hasSymbolicSize(result.get())
                          ? sizesAttr(b, sizesOf(result.get()))
                          : ArrayAttr());
      writeWhereWanted(b, result.get(), memory);
    }
    OpBuilder end(ret);
    auto store = bufferization::MaterializeInDestinationOp::create(
        end, ret->getLoc(), Type(), result.get(), memory);
    store.setRestrict(true);
    store.setWritable(true);
  }
  ret->setOperands({});
  kernel->removeAttr(kernel.getArgAttrsAttrName());
  kernel.setType(b.getFunctionType(types, {}));
  for (auto [i, list] : llvm::enumerate(sizes))
    if (list)
      kernel.setArgAttr(i, LtcDialect::kSizes, list);
}

} // namespace

LogicalResult planBuffers(func::FuncOp main, const OptimizeOptions &options) {
  BufferPlan plan(main, options.optimizations.reuse);
  if (failed(MainRewriter(main, plan).run()))
    return failure();
  return forEachKernel(main, [](func::FuncOp kernel) {
    rewriteKernel(kernel);
    return success();
  });
}

} // namespace ltc::compiler
