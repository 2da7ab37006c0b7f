//===- kernel_abi.cpp - Kernels as range functions --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/places.h"
#include "mlir_lowering/codegen/symbols.h"
#include "mlir_lowering/codegen/words.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

/// How many steps of `step` it takes to `size`.
int64_t stepsTo(int64_t size, int64_t step) {
  return llvm::divideCeil(size, step);
}

/// One dimension of a forall: from 0 to a size, or from one number to another.
struct Range {
  int64_t low, high, step;
  Value highValue; ///< of a symbolic one

  /// The number of its iterations.
  Value trips(ImplicitLocOpBuilder &b) const {
    if (!highValue)
      return arith::ConstantIndexOp::create(b, stepsTo(high - low, step));
    if (step == 1)
      return highValue;
    Value by = arith::ConstantIndexOp::create(b, step);
    return arith::CeilDivUIOp::create(b, highValue, by);
  }
};

FailureOr<SmallVector<Range>> rangesOf(scf::ForallOp forall) {
  SmallVector<Range> ranges;
  for (auto [low, high, step] :
       llvm::zip_equal(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                       forall.getMixedStep())) {
    Range range{sizeOf(low), sizeOf(high), sizeOf(step), dyn_cast<Value>(high)};
    if (ShapedType::isDynamic(range.high) ||
        (isSymbolic(range.high) && range.low))
      return forall.emitError("a parallel loop of unknown length");
    ranges.push_back(range);
  }
  return ranges;
}

/// Replaces the forall by a loop over [begin, end) of its linear iterations.
void toRange(scf::ForallOp forall, ArrayRef<Range> ranges, Value begin,
             Value end) {
  ImplicitLocOpBuilder b(forall.getLoc(), forall);
  // Worked out in front of the loop where that is work.
  SmallVector<Value> open(ranges.size());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].highValue)
      open[i] = ranges[i].trips(b);
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, one);
  b.setInsertionPointToStart(loop.getBody());
  IRMapping map;
  Value rest = loop.getInductionVar();
  for (size_t i = ranges.size(); i-- > 0;) {
    Value step = arith::ConstantIndexOp::create(b, ranges[i].step);
    Value low = arith::ConstantIndexOp::create(b, ranges[i].low);
    Value number = rest;
    if (i > 0) {
      Value trip = open[i] ? open[i] : ranges[i].trips(b);
      number = arith::RemUIOp::create(b, rest, trip);
      rest = arith::DivUIOp::create(b, rest, trip);
    }
    number = b.createOrFold<arith::MulIOp>(number, step);
    map.map(forall.getInductionVar(i),
            b.createOrFold<arith::AddIOp>(number, low));
  }
  for (Operation &op : forall.getBody()->without_terminator())
    b.clone(op, map);
  forall.erase();
}

/// Says on the kernel how often its loop runs: as a number, which for symbolic
/// ranges is that of the hints, and as pairs of a size and a step.
void noteIterations(func::FuncOp kernel, ArrayRef<Range> ranges) {
  Builder b(kernel.getContext());
  SizeTable &table = sizeTable(kernel.getContext());
  int64_t usual = 1;
  SmallVector<int64_t> trips;
  for (const Range &range : ranges) {
    usual *= stepsTo(table.hint(range.high) - range.low, range.step);
    int64_t length = range.highValue ? range.high : range.high - range.low;
    trips.append({length, range.step});
  }
  kernel->setAttr(attr::kIterations, b.getI64IntegerAttr(usual));
  kernel->setAttr("ltc.trips", sizesAttr(b, trips));
}

/// By kernel, what the addresses of its arguments are multiples of in all
/// calls.
using Alignments = llvm::StringMap<SmallVector<int64_t>>;

Alignments alignmentsOf(func::FuncOp main, int64_t most, Artifact &artifact) {
  Alignments found;
  if (most == 1)
    return found;
  Places places(main, artifact);
  for (auto call : main.getOps<func::CallOp>()) {
    SmallVector<int64_t> &all = found[call.getCallee()];
    all.resize(call.getNumOperands(), most);
    for (auto [operand, alignment] : llvm::zip_equal(call.getOperands(), all))
      if (isa<MemRefType>(operand.getType()))
        alignment = std::min(alignment, places.alignment(operand, most));
  }
  return found;
}

/// Says on a kernel of threads how many bytes each argument has, 0 of a number,
/// if all are known.
void noteBytes(func::FuncOp kernel) {
  SmallVector<int64_t> bytes;
  for (Type type : kernel.getArgumentTypes()) {
    auto memref = dyn_cast<MemRefType>(type);
    if (memref && !memref.hasStaticShape())
      return;
    bytes.push_back(memref ? memref.getNumElements() *
                                 elementBytes(memref.getElementType())
                           : 0);
  }
  kernel->setAttr(attr::kBytes,
                  DenseI64ArrayAttr::get(kernel.getContext(), bytes));
}

LogicalResult lowerKernel(func::FuncOp kernel, ArrayRef<int64_t> alignments) {
  if (kernel->hasAttr(attr::kThreads) && !usesSymbols(kernel))
    noteBytes(kernel);
  Block &body = kernel.getBody().front();
  ImplicitLocOpBuilder b =
      ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(), &body);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  unsigned count = body.getNumArguments();
  Value begin = body.addArgument(b.getI64Type(), kernel.getLoc());
  Value end = body.addArgument(b.getI64Type(), kernel.getLoc());
  Value words = body.addArgument(pointer, kernel.getLoc());
  for (unsigned i = 0; i < count; ++i) {
    Type type = body.getArgument(i).getType();
    auto sizes = kernel.getArgAttrOfType<ArrayAttr>(i, LtcDialect::kSizes);
    body.getArgument(i).replaceAllUsesWith(loadWord(
        b, words, i, type, sizes, alignments.empty() ? 1 : alignments[i]));
  }
  Value from = arith::IndexCastOp::create(b, b.getIndexType(), begin);
  Value to = arith::IndexCastOp::create(b, b.getIndexType(), end);
  body.eraseArguments(0, count);
  kernel->removeAttr(kernel.getArgAttrsAttrName());
  kernel.setType(
      b.getFunctionType({b.getI64Type(), b.getI64Type(), pointer}, {}));
  kernel.setPublic(); // a step names it

  auto loops = llvm::to_vector(kernel.getOps<scf::ForallOp>());
  if (loops.size() > 1)
    return kernel.emitError("a kernel has one parallel loop");
  SmallVector<Range> ranges;
  if (!loops.empty()) {
    FailureOr<SmallVector<Range>> found = rangesOf(loops.front());
    if (failed(found))
      return failure();
    ranges = *found;
    toRange(loops.front(), ranges, from, to);
  }
  noteIterations(kernel, ranges);
  if (usesSymbols(kernel)) {
    // Behind all others is the word that points to the symbols.
    kernel->setAttr("ltc.symbols", b.getUnitAttr());
    b.setInsertionPointToStart(&body);
    if (failed(lowerSizes(kernel, loadWord(b, words, count, pointer))))
      return failure();
    ++count;
  }
  kernel->setAttr(attr::kWords, b.getI64IntegerAttr(count));
  // A stack slot in a loop would grow the stack and never live in registers.
  SmallVector<memref::AllocaOp> slots;
  kernel.walk([&](memref::AllocaOp slot) { slots.push_back(slot); });
  for (memref::AllocaOp slot : slots)
    slot->moveBefore(&body, body.begin());
  return success();
}

} // namespace

LogicalResult lowerKernels(ModuleOp module, int64_t bufferAlignment,
                           Artifact &artifact) {
  Alignments alignments = alignmentsOf(
      module.lookupSymbol<func::FuncOp>("main"), bufferAlignment, artifact);
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(attr::kKind) &&
        failed(lowerKernel(kernel, alignments.lookup(kernel.getSymName()))))
      return failure();
  return success();
}

} // namespace ltc::compiler
