//===- batch_launches.cpp - One launch of equal kernels ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer calls a kernel for each parameter, one for all of a shape. On a
// target with blocks of threads, such calls become one launch
// (join_kernels.cpp). A call moves up to an earlier one if nothing between them
// touches its memory.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/launch_words.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

constexpr size_t kMostWords = 512;  ///< 4 KB, which any driver takes by value
constexpr size_t kMostKernels = 16; ///< whose code one launch has
constexpr size_t kFarthest = 512;   ///< launches that one may move over

/// What is known of a kernel.
struct Kernel {
  bool canJoin = false;
  bool canMix = false;          ///< with calls of other kernels
  llvm::SmallBitVector written; ///< arguments
};

/// Bytes of memory that a launch reads or writes.
struct Span {
  uint32_t base, index;
  int64_t from, to;
  bool isWritten;
  bool conflicts(const Span &other) const {
    return (isWritten || other.isWritten) && base == other.base &&
           index == other.index && from < other.to && other.from < to;
  }
};

struct Launch {
  func::CallOp call;
  Words words;
  SmallVector<Span> spans;
  bool conflicts(const Launch &other) const {
    return llvm::any_of(spans, [&](const Span &one) {
      return llvm::any_of(other.spans,
                          [&](const Span &two) { return one.conflicts(two); });
    });
  }
};

bool isNumber(int64_t size) {
  return !isSymbolic(size) && !ShapedType::isDynamic(size);
}

/// Whether sizes are among the words of a launch: they have one place, the
/// last.
bool takesSizes(Type argument) {
  auto type = dyn_cast<MemRefType>(argument);
  if (!type)
    return false;
  auto [strides, offset] = type.getStridesAndOffset();
  return !isNumber(offset) || !llvm::all_of(strides, isNumber) ||
         !llvm::all_of(type.getShape(), isNumber);
}

Kernel look(func::FuncOp function) {
  Kernel kernel;
  kernel.written.resize(function.getNumArguments());
  kernel.canJoin = function->hasAttr(attr::kThreads) &&
                   llvm::none_of(function.getArgumentTypes(), takesSizes);
  // A block may have more threads than the kernel is for: they cannot wait.
  kernel.canMix = kernel.canJoin;
  function.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    bool isLoop = llvm::is_contained({"arith", "math", "memref", "scf",
                                      "vector", "affine", "func", "complex"},
                                     dialect);
    if (isa<memref::AllocaOp>(op) || !(isLoop || isa<gpu::ThreadIdOp>(op)))
      kernel.canMix = false;
  });
  function.walk([&](Operation *op) {
    if (isa<CheckOp, CheckIndexOp, CheckDivisorOp, SizeOp>(op))
      kernel.canJoin = false; // a report has an order
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return;
    SmallVector<MemoryEffects::EffectInstance> all;
    effects.getEffects(all);
    for (const MemoryEffects::EffectInstance &effect : all) {
      Value memory = effect.getValue();
      if (!memory || !isa<MemoryEffects::Write>(effect.getEffect()))
        continue;
      while (Operation *view = memory.getDefiningOp()) {
        if (auto metadata = dyn_cast<memref::ExtractStridedMetadataOp>(view))
          memory = metadata.getSource();
        else if (auto like = dyn_cast<ViewLikeOpInterface>(view))
          memory = like.getViewSource();
        else
          break;
      }
      auto argument = dyn_cast<BlockArgument>(memory);
      if (argument && argument.getOwner() == &function.getBody().front())
        kernel.written.set(argument.getArgNumber());
    }
  });
  return kernel;
}

class Batcher {
public:
  Batcher(ModuleOp module, Artifact &artifact)
      : functions(module), main(functions.lookup<func::FuncOp>("main")),
        places(main, artifact) {}

  void run() {
    Block &block = main.getBody().front();
    Operation *first = nullptr; // what views and sizes stand in front of
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (isa<func::CallOp, CallOp, memref::CopyOp>(op))
        first = first ? first : &op;
      else if (first)
        op.moveBefore(first);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto call = dyn_cast<func::CallOp>(op);
      if (call && kernelOf(call).canJoin)
        add(call);
      else if (first)
        write(&op);
    }
  }

private:
  struct Batch {
    SmallVector<Launch, 1> launches;
    KernelWords words;
    void add(Launch launch) {
      addCall(words, launch.call.getCallee(), launch.words);
      launches.push_back(std::move(launch));
    }
  };

  const Kernel &kernelOf(func::CallOp call) {
    auto [place, isNew] = kernels.try_emplace(call.getCallee());
    if (isNew)
      place->second = look(functions.lookup<func::FuncOp>(call.getCallee()));
    return place->second;
  }

  Span spanOf(Value memref, bool isWritten) {
    Place place = places.of(memref);
    auto type = cast<MemRefType>(memref.getType());
    int64_t bytes = elementBytes(type.getElementType()), last = place.offset;
    bool isKnown = isNumber(place.begin) && isNumber(place.offset);
    for (auto [size, stride] : llvm::zip_equal(place.sizes, place.strides)) {
      isKnown = isKnown && isNumber(size) && isNumber(stride);
      if (isKnown)
        last += (size - 1) * stride;
    }
    if (!isKnown)
      return {place.base, place.index, 0, INT64_MAX, isWritten};
    return {place.base, place.index, place.begin + place.offset * bytes,
            place.begin + (last + 1) * bytes, isWritten};
  }

  bool mayMix(func::CallOp call, func::CallOp other) {
    return call.getCallee() == other.getCallee() ||
           (kernelOf(call).canMix && kernelOf(other).canMix);
  }

  bool mayJoin(const Launch &launch, const Batch &batch) {
    func::CallOp call = launch.call, first = batch.launches.front().call;
    if (!mayMix(call, first) || first->hasAttr(attr::kWritesDonated) !=
                                    call->hasAttr(attr::kWritesDonated))
      return false;
    KernelWords words = batch.words;
    addCall(words, call.getCallee(), launch.words);
    return words.size() <= kMostKernels && countWords(words) <= kMostWords;
  }

  void add(func::CallOp call) {
    Launch launch{call, wordsOf(call, places), {}};
    const Kernel &kernel = kernelOf(call);
    for (auto [i, operand] : llvm::enumerate(call.getOperands()))
      if (isa<MemRefType>(operand.getType()))
        launch.spans.push_back(spanOf(operand, kernel.written[i]));
    for (size_t i = batches.size(), seen = 0; i-- > 0 && seen < kFarthest;) {
      Batch &batch = batches[i];
      seen += batch.launches.size();
      if (llvm::any_of(batch.launches, [&](const Launch &other) {
            return launch.conflicts(other);
          }))
        break;
      if (mayJoin(launch, batch))
        return batch.add(std::move(launch));
    }
    batches.emplace_back().add(std::move(launch));
  }

  /// Puts the launches so far in front of an op that none may pass.
  void write(Operation *op) {
    auto joins = UnitAttr::get(op->getContext());
    for (Batch &batch : batches) {
      llvm::MapVector<StringRef, SmallVector<func::CallOp>> calls;
      for (Launch &launch : batch.launches)
        calls[launch.call.getCallee()].push_back(launch.call);
      bool isFirst = true;
      for (auto &[kernel, all] : calls)
        for (func::CallOp call : all) {
          call->moveBefore(op);
          if (!std::exchange(isFirst, false))
            call->setAttr(attr::kJoins, joins);
        }
    }
    batches.clear();
  }

  SymbolTable functions;
  func::FuncOp main;
  Places places;
  llvm::StringMap<Kernel> kernels;
  SmallVector<Batch> batches; ///< in the order in which they will run
};

} // namespace

void batchLaunches(ModuleOp module, Artifact &artifact) {
  bool any =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function->hasAttr(attr::kThreads);
      });
  if (any)
    Batcher(module, artifact).run();
}

} // namespace ltc::compiler
