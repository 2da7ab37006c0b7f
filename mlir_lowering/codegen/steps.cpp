//===- steps.cpp - @main as a list of steps ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/launch_words.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/node_location.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/import/import.h"
#include "mlir_lowering/optimize/optimize.h"

#include "ltc/op_facts.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

class StepWriter {
public:
  StepWriter(ModuleOp module, const TargetFacts &facts, Artifact &artifact)
      : module(module), functions(module),
        main(functions.lookup<func::FuncOp>("main")), facts(facts),
        artifact(artifact), places(main, artifact) {}

  LogicalResult run() {
    artifact.donated.clear();
    for (int64_t argument :
         main->getAttrOfType<DenseI64ArrayAttr>(attr::kDonated).asArrayRef())
      artifact.donated.push_back(
          argument < 0 ? std::nullopt : std::optional(uint32_t(argument)));
    for (auto kernel : module.getOps<func::FuncOp>())
      if (auto kind = kernel->getAttrOfType<StringAttr>(attr::kKind)) {
        numbers[kernel.getSymName()] = artifact.kernels.size();
        auto threads = kernel->getAttrOfType<IntegerAttr>(attr::kThreads);
        artifact.kernels.push_back({kernel.getSymName().str(), kind.str(), 0,
                                    uint32_t(threads ? threads.getInt() : 1)});
      }
    for (int64_t bytes : sizesIn(main->getAttrOfType<ArrayAttr>(attr::kArena)))
      artifact.arena.push_back(places.number(bytes));
    for (Operation &op : main.getBody().front())
      if (failed(write(&op)))
        return failure();
    main.erase();
    return success();
  }

private:
  LogicalResult write(Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      return call->hasAttr(attr::kJoins) ? success() : launch(call);
    if (auto call = dyn_cast<CallOp>(op))
      return callLibrary(call);
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      return copyDense(copy);
    return success(); // what it computes is looked at where it is used
  }

  /// A step of which the words and extents are added next.
  ltc_step begin(uint32_t kind, size_t target, ArrayRef<Operation *> ops) {
    ltc_step step = {};
    step.kind = kind;
    step.target = uint32_t(target);
    step.first_word = uint32_t(artifact.words.size());
    step.first_extent = uint32_t(artifact.extents.size());
    step.writes_donated = ops.front()->hasAttr(attr::kWritesDonated);
    step.first_node = uint32_t(artifact.nodes.size());
    for (Operation *op : ops)
      for (uint32_t node : nodesAt(op->getLoc()))
        if (!llvm::is_contained(
                llvm::drop_begin(artifact.nodes, step.first_node), node))
          artifact.nodes.push_back(node);
    step.nodes = uint32_t(artifact.nodes.size()) - step.first_node;
    return step;
  }

  LogicalResult end(ltc_step step) {
    step.words = uint32_t(artifact.words.size()) - step.first_word;
    step.extents = uint32_t(artifact.extents.size()) - step.first_extent;
    artifact.steps.push_back(step);
    return success();
  }

  LogicalResult addWord(Value value, Operation *user) {
    FailureOr<ltc_word> word = places.word(value);
    if (failed(word))
      return user->emitError("the host would have to compute an operand");
    artifact.words.push_back(*word);
    return success();
  }

  /// Of a call, and of those that join its launch.
  LogicalResult launch(func::CallOp call) {
    auto joint = call->getAttrOfType<FlatSymbolRefAttr>(attr::kLaunch);
    StringRef name = joint ? joint.getValue() : call.getCallee();
    auto kernel = functions.lookup<func::FuncOp>(name);
    SmallVector<Operation *> calls{call};
    while (calls.back()->getNextNode()->hasAttr(attr::kJoins))
      calls.push_back(calls.back()->getNextNode());
    ltc_step step = begin(LTC_LAUNCH, numbers.lookup(name), calls);
    SmallVector<Value> operands;
    for (Operation *one : calls)
      llvm::append_range(operands, one->getOperands());
    if (auto chosen = call->getAttrOfType<DenseI64ArrayAttr>(attr::kOperands)) {
      SmallVector<Value> all = std::move(operands);
      operands = llvm::map_to_vector(chosen.asArrayRef(),
                                     [&](int64_t i) { return all[size_t(i)]; });
    }
    for (Value operand : operands)
      if (failed(addWord(operand, call)))
        return failure();
    if (kernel->hasAttr("ltc.symbols"))
      artifact.words.push_back({LTC_SYMBOLS, 0, 0});
    SmallVector<int64_t> trips =
        sizesIn(kernel->getAttrOfType<ArrayAttr>("ltc.trips"));
    for (size_t i = 0; i < trips.size(); i += 2)
      artifact.extents.push_back({places.number(trips[i]), trips[i + 1]});
    if (joint) {
      int64_t iterations = 0;
      for (Operation *one : calls)
        iterations +=
            one->getAttrOfType<IntegerAttr>(attr::kIterations).getInt();
      artifact.extents.push_back({iterations, 1});
      // All launches of a kernel have as many words as the largest.
      artifact.words.resize(
          step.first_word +
          kernel->getAttrOfType<IntegerAttr>(attr::kWords).getInt());
    }
    step.grain = grainOf(kernel, llvm::any_of(trips, isSymbolic));
    return end(step);
  }

  /// How many iterations a thread should have.
  int64_t grainOf(func::FuncOp kernel, bool isOpen) {
    int64_t iterations =
        kernel->getAttrOfType<IntegerAttr>(attr::kIterations).getInt();
    int64_t work = kernel->getAttrOfType<IntegerAttr>(attr::kWork).getInt();
    if (!isOpen && (work < facts.parallel_work || iterations < 2))
      return std::numeric_limits<int64_t>::max();
    int64_t each =
        std::max<int64_t>(1, work / std::max<int64_t>(1, iterations));
    return std::max<int64_t>(1, facts.parallel_work / 2 / each);
  }

  /// Equal calls too have a number each, by which an error finds its node.
  LogicalResult callLibrary(CallOp call) {
    ltc_step step = begin(LTC_CALL, artifact.calls.size(), {call});
    step.writes_donated |= factsOf(call.getCallee()).has(OpFact::Begins);
    artifact.calls.push_back({exportCall(call),
                              uint32_t(call.getNode().value_or(-1)),
                              call->hasAttr(attr::kSpoils)});
    for (Value operand : call->getOperands()) {
      if (failed(addWord(operand, call)))
        return failure();
      if (isa<MemRefType>(operand.getType())) {
        Place place = places.of(operand);
        if (failed(addNumbers(place.sizes, call)) ||
            failed(addNumbers(place.strides, call)))
          return failure();
      }
    }
    return end(step);
  }

  LogicalResult addNumbers(ArrayRef<int64_t> sizes, Operation *user) {
    for (int64_t size : sizes) {
      if (ShapedType::isDynamic(size))
        return user->emitError("an operand of unknown size");
      artifact.words.push_back({LTC_NUMBER, 0, places.number(size)});
    }
    return success();
  }

  LogicalResult copyDense(memref::CopyOp copy) {
    ltc_step step = begin(LTC_COPY, 0, {copy});
    if (failed(addWord(copy.getTarget(), copy)) ||
        failed(addWord(copy.getSource(), copy)))
      return failure();
    SmallVector<int64_t> bytes = places.of(copy.getTarget()).sizes;
    bytes.push_back(elementBytes(
        cast<MemRefType>(copy.getTarget().getType()).getElementType()));
    if (failed(addNumbers(productOf(module.getContext(), bytes), copy)))
      return failure();
    return end(step);
  }

  ModuleOp module;
  SymbolTable functions; ///< a look-up in the module is a walk
  func::FuncOp main;
  const TargetFacts &facts;
  Artifact &artifact;
  Places places;
  llvm::StringMap<size_t> numbers; ///< of kernels
};

} // namespace

LogicalResult listSteps(ModuleOp module, const TargetFacts &facts,
                        Artifact &artifact) {
  return StepWriter(module, facts, artifact).run();
}

} // namespace ltc::compiler
