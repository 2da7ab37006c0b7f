//===- entry.cpp - @main as the entry point ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/split_entry.h"
#include "mlir_lowering/codegen/symbols.h"
#include "mlir_lowering/codegen/words.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/import/import.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

/// Less work than this is not worth waking another thread for: about 10 us.
constexpr int64_t kParallelWork = 64 * 1024;

class EntryLowering {
public:
  EntryLowering(ModuleOp module, Artifact &artifact)
      : module(module), artifact(artifact), kernels(module),
        main(kernels.lookup<func::FuncOp>("main")),
        b(main.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult run() {
    declare();
    unsigned count = main.getNumArguments();
    for (auto [donated, argument] :
         llvm::zip_equal(artifact.donated,
                         main->getAttrOfType<DenseI64ArrayAttr>(attr::kDonated)
                             .asArrayRef()))
      if (argument < 0)
        donated = std::nullopt;
    artifact.arenaBytes =
        arenaOf(cast<MemRefType>(main.getArgumentTypes().back()));
    SmallVector<EntryPart> parts = splitMain(main);
    for (const EntryPart &part : parts)
      if (failed(lower(part, count)))
        return failure();
    main->removeAttr(main.getArgAttrsAttrName());
    if (parts.front().function != main)
      callAll(parts);
    main.setName(kEntry);
    main.setPublic();
    return success();
  }

private:
  /// `count`: of @main's arguments.
  LogicalResult lower(EntryPart part, unsigned count) {
    wordArray = {};
    wordCount = 1;
    unpackArguments(part, count);
    Block &body = part.function.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      b.setInsertionPoint(&op);
      b.setLoc(op.getLoc());
      if (auto call = dyn_cast<func::CallOp>(op)) {
        launch(call);
      } else if (auto call = dyn_cast<CallOp>(op)) {
        callLibrary(call);
      } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
        copyDense(copy);
      }
    }
    allocateWords();
    return symbols ? lowerSizes(part.function, symbols) : success();
  }

  void callAll(ArrayRef<EntryPart> parts) {
    Block &body = main.getBody().front();
    body.eraseArguments(0, body.getNumArguments());
    Value arguments = body.addArgument(pointer, main.getLoc());
    main.setType(b.getFunctionType({pointer}, {}));
    b.setInsertionPoint(body.getTerminator());
    for (EntryPart part : parts)
      func::CallOp::create(b, part.function, ValueRange{arguments});
  }

  LLVM::LLVMFuncOp declareOne(StringRef name, ArrayRef<Type> types) {
    auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (known)
      return known;
    b.setInsertionPointToEnd(module.getBody());
    auto result = LLVM::LLVMVoidType::get(b.getContext());
    return LLVM::LLVMFuncOp::create(b, name,
                                    LLVM::LLVMFunctionType::get(result, types));
  }

  void declare() {
    Type word = b.getI64Type();
    declareOne("ltc_parallel_for", {pointer, word, word, pointer, pointer});
    declareOne("ltc_kernel_call", {pointer, word, pointer});
    declareOne("ltc_copy", {pointer, pointer, pointer, word});
  }

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(b, b.getI64Type(), value);
  }

  /// arguments[i] points at a descriptor or a scalar; see artifact.h.
  void unpackArguments(EntryPart part, unsigned count) {
    Block &body = part.function.getBody().front();
    entry = &body;
    unsigned own = body.getNumArguments();
    b.setInsertionPointToStart(&body);
    Value arguments = body.addArgument(pointer, main.getLoc());
    auto argumentAt = [&](unsigned i) -> Value {
      Value place = LLVM::GEPOp::create(b, pointer, pointer, arguments,
                                        ArrayRef<LLVM::GEPArg>{int32_t(i)});
      return LLVM::LoadOp::create(b, pointer, place);
    };
    for (unsigned i = 0; i < own; ++i) {
      BlockArgument argument = body.getArgument(i);
      Type type = argument.getType();
      if (argument.use_empty())
        continue;
      Value place = argumentAt(part.arguments[i]);
      auto memref = dyn_cast<MemRefType>(type);
      argument.replaceAllUsesWith(
          memref ? memrefAt(b, firstElement(place, memref), memref,
                            main.getArgAttrOfType<ArrayAttr>(
                                part.arguments[i], LtcDialect::kSizes))
                 : loadWord(b, place, 0, type));
    }
    bool isDynamic = module->hasAttr(LtcDialect::kSymbols);
    Value place = argumentAt(count + isDynamic);
    context = LLVM::LoadOp::create(b, pointer, place);
    if (isDynamic) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&body);
      symbols = argumentAt(count);
    }
    body.eraseArguments(0, own);
    part.function.setType(b.getFunctionType({pointer}, {}));
  }

  Formula arenaOf(MemRefType arena) {
    auto formula = main->getAttrOfType<StringAttr>(attr::kArena);
    return formula ? *Formula::parse(std::string_view(formula.getValue()))
                   : Formula(arena.getDimSize(0));
  }

  Value firstElement(Value descriptor, MemRefType type) {
    auto field = [&](int32_t i, Type as) -> Value {
      Value place = LLVM::GEPOp::create(b, pointer, b.getI64Type(), descriptor,
                                        ArrayRef<LLVM::GEPArg>{i});
      return LLVM::LoadOp::create(b, as, place);
    };
    Value aligned = field(1, pointer), offset = field(2, b.getI64Type());
    int64_t bytes = elementBytes(type.getElementType());
    Value scaled = LLVM::MulOp::create(b, offset, constant(bytes));
    return LLVM::GEPOp::create(b, pointer, b.getI8Type(), aligned,
                               ArrayRef<LLVM::GEPArg>{scaled});
  }

  /// The one array of words that all calls fill in turn.
  Value words(int64_t count) {
    wordCount = std::max(wordCount, count);
    if (!wordArray) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(entry);
      wordArray =
          LLVM::AllocaOp::create(b, pointer, b.getI64Type(), constant(1), 64);
    }
    return wordArray.getResult();
  }

  void allocateWords() {
    if (!wordArray)
      return;
    b.setInsertionPoint(wordArray);
    wordArray.getArraySizeMutable().assign(constant(wordCount));
  }

  void launch(func::CallOp call) {
    auto kernel = kernels.lookup<func::FuncOp>(call.getCallee());
    bool usesSymbols = kernel->hasAttr("ltc.symbols");
    Value array = words(call.getNumOperands() + usesSymbols);
    for (auto [i, operand] : llvm::enumerate(call.getOperands()))
      storeWord(b, array, i, operand);
    if (usesSymbols)
      storeWord(b, array, call.getNumOperands(), symbols);
    int64_t iterations =
        kernel->getAttrOfType<IntegerAttr>("ltc.iterations").getInt();
    int64_t work = kernel->getAttrOfType<IntegerAttr>(attr::kWork).getInt();
    auto trips = kernel->getAttrOfType<ArrayAttr>("ltc.trips");
    Value count = trips ? product(trips) : constant(iterations);
    bool isSmall = !trips && (work < kParallelWork || iterations < 2);
    if (isSmall && !call->hasAttr(attr::kWritesDonated)) {
      func::CallOp::create(b, call.getCallee(), TypeRange(),
                           ValueRange{constant(0), count, array});
    } else {
      int64_t each =
          std::max<int64_t>(1, work / std::max<int64_t>(1, iterations));
      int64_t grain = isSmall ? std::numeric_limits<int64_t>::max()
                              : std::max<int64_t>(1, kParallelWork / 2 / each);
      Value function = func::ConstantOp::create(b, kernel.getFunctionType(),
                                                call.getCalleeAttr());
      Value address =
          UnrealizedConversionCastOp::create(b, pointer, function).getResult(0);
      LLVM::CallOp::create(
          b, TypeRange(), "ltc_parallel_for",
          ValueRange{context, count, constant(grain), address, array});
    }
    ++artifact.kernels;
    call.erase();
  }

  /// The number of iterations of a kernel over symbolic ranges.
  Value product(ArrayAttr trips) {
    SmallVector<int64_t> numbers = sizesIn(trips);
    Value total;
    for (size_t i = 0; i < numbers.size(); i += 2) {
      Value length = getValueOrCreateConstantIndexOp(
          b, b.getLoc(), sizeValue(b, b.getLoc(), numbers[i]));
      Value step = arith::ConstantIndexOp::create(b, numbers[i + 1]);
      Value steps = b.createOrFold<arith::CeilDivUIOp>(length, step);
      total = total ? b.createOrFold<arith::MulIOp>(total, steps) : steps;
    }
    return arith::IndexCastOp::create(b, b.getI64Type(), total);
  }

  /// Operands, then results: each tensor its address, sizes and strides.
  void callLibrary(CallOp call) {
    SmallVector<Value> values;
    for (Value operand : call->getOperands()) {
      auto type = dyn_cast<MemRefType>(operand.getType());
      if (!type) {
        values.push_back(operand);
        continue;
      }
      values.push_back(addressOf(b, operand));
      auto [strides, offset] = type.getStridesAndOffset();
      memref::ExtractStridedMetadataOp metadata;
      // MLIR says no strides of what has no elements.
      if (!type.hasStaticShape() ||
          llvm::any_of(strides, ShapedType::isDynamic))
        metadata = memref::ExtractStridedMetadataOp::create(b, operand);
      auto add = [&](ArrayRef<int64_t> known, auto open) {
        for (auto [i, value] : llvm::enumerate(known))
          values.push_back(ShapedType::isDynamic(value) ? Value(open()[i])
                                                        : constant(value));
      };
      add(type.getShape(), [&] { return metadata.getSizes(); });
      add(strides, [&] { return metadata.getStrides(); });
    }
    Value array = words(values.size());
    for (auto [i, value] : llvm::enumerate(values))
      storeWord(b, array, i, value);
    LLVM::CallOp::create(b, TypeRange(), "ltc_kernel_call",
                         ValueRange{context, constant(addSite(call)), array});
    ++artifact.kernels;
    call.erase();
  }

  /// Equal calls too have a number each, by which an error finds its node.
  int64_t addSite(CallOp call) {
    artifact.calls.push_back({exportCall(call),
                              uint32_t(call.getNode().value_or(-1)),
                              call->hasAttr(attr::kSpoils)});
    return int64_t(artifact.calls.size()) - 1;
  }

  void copyDense(memref::CopyOp copy) {
    auto type = cast<MemRefType>(copy.getTarget().getType());
    int64_t known = elementBytes(type.getElementType());
    Value open;
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(size)) {
        known *= size;
        continue;
      }
      Value more = arith::IndexCastOp::create(
          b, b.getI64Type(), memref::DimOp::create(b, copy.getTarget(), dim));
      open = open ? LLVM::MulOp::create(b, open, more).getResult() : more;
    }
    Value bytes = constant(known);
    if (open)
      bytes = LLVM::MulOp::create(b, open, bytes);
    auto address = [&](Value memref) {
      return LLVM::IntToPtrOp::create(b, pointer, addressOf(b, memref))
          .getResult();
    };
    Value to = address(copy.getTarget()), from = address(copy.getSource());
    if (copy->hasAttr(attr::kWritesDonated))
      LLVM::CallOp::create(b, TypeRange(), "ltc_copy",
                           ValueRange{context, to, from, bytes});
    else
      LLVM::MemmoveOp::create(b, to, from, bytes, /*isVolatile=*/false);
    copy.erase();
  }

  ModuleOp module;
  Artifact &artifact;
  SymbolTable kernels; ///< a look-up in the module is a walk
  func::FuncOp main;
  ImplicitLocOpBuilder b;
  LLVM::LLVMPointerType pointer;
  // Of the part at hand.
  Block *entry = nullptr;
  Value context, symbols;
  LLVM::AllocaOp wordArray;
  int64_t wordCount = 1;
};

} // namespace

LogicalResult lowerMain(ModuleOp module, Artifact &artifact) {
  return EntryLowering(module, artifact).run();
}

} // namespace ltc::compiler
