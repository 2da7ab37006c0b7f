//===- teams.cpp - Who does an iteration of a GPU's loop ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/teams.h"

#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/optimize.h"
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// As many threads as have `each` elements in the largest op.
static int64_t threadsFor(ArrayRef<GenericOp> ops, int64_t most, int64_t each) {
  int64_t points = 1;
  for (GenericOp op : ops) {
    int64_t all = 1;
    for (int64_t size : op.getStaticLoopRanges())
      all = ShapedType::isDynamic(size) ? most * each
                                        : std::min(all * size, most * each);
    points = std::max(points, all);
  }
  auto wanted = int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(points, each)));
  return std::min(wanted, most);
}

/// Elements of a vector that all rows are whole multiples of.
static int64_t lanesOfRows(ArrayRef<GenericOp> ops, int64_t lanes) {
  for (GenericOp op : ops) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    while (!sizes.empty() && sizes.back() != 1 && lanes > 1 &&
           (ShapedType::isDynamic(sizes.back()) || sizes.back() % lanes != 0))
      lanes /= 2;
  }
  return lanes;
}

static int64_t bytesOf(memref::AllocaOp temporary) {
  MemRefType type = temporary.getType();
  return llvm::alignTo(
      type.getNumElements() * elementBytes(type.getElementType()), 16);
}

/// How many teams a block has: as many as fill it, unless that leaves
/// multiprocessors without one.
static int64_t teamsOf(func::FuncOp kernel, int64_t threads) {
  constexpr int64_t blockThreads = 128, enoughBlocks = 512,
                    mostMemory = 16 * 1024;
  auto loops = kernel.getOps<scf::ForallOp>();
  if (loops.empty())
    return 1;
  scf::ForallOp loop = *loops.begin();
  if (sizeOf(loop.getMixedStep().back()) != 1 ||
      sizeOf(loop.getMixedLowerBound().back()) != 0)
    return 1;
  SizeTable &table = sizeTable(kernel.getContext());
  int64_t iterations = 1, last = 1, bytes = 0;
  for (auto [size, step] :
       llvm::zip_equal(loop.getMixedUpperBound(), loop.getMixedStep())) {
    last = table.hint(sizeOf(size)) / sizeOf(step);
    iterations *= last;
  }
  kernel.walk([&](memref::AllocaOp op) { bytes += bytesOf(op); });
  int64_t teams = std::max<int64_t>(1, blockThreads / threads);
  while (teams > 1 &&
         (teams >= 2 * last || teams * bytes > mostMemory ||
          (teams * threads > kWarp && iterations < teams * enoughBlocks)))
    teams /= 2;
  return teams;
}

Team chooseTeam(func::FuncOp kernel, ArrayRef<GenericOp> ops,
                const Schedule &schedule, int64_t lanes) {
  int64_t most = std::max(schedule.threads, kWarp);
  if (kernel->getAttrOfType<StringAttr>(attr::kKind) != kind::kRowReduce)
    return {std::max(threadsFor(ops, most, 4), kWarp)};
  // More threads for a row would wait longer for each other.
  int64_t threads = threadsFor(ops, most, 16);
  if (threads > kWarp)
    return {threads};
  threads = threadsFor(ops, kWarp, lanesOfRows(ops, lanes));
  return {threads, teamsOf(kernel, threads)};
}

/// Gives each team memory of its own.
static void divideTemporaries(func::FuncOp kernel, Team team, Value number) {
  SmallVector<memref::AllocaOp> temporaries;
  kernel.walk([&](memref::AllocaOp op) { temporaries.push_back(op); });
  for (memref::AllocaOp op : temporaries) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    b.setInsertionPointAfterValue(number);
    auto type = MemRefType::get({bytesOf(op) * team.count}, b.getI8Type());
    Value all = memref::AllocaOp::create(b, type, b.getI64IntegerAttr(16));
    Value each = arith::ConstantIndexOp::create(b, bytesOf(op));
    Value from = arith::MulIOp::create(b, number, each);
    op.replaceAllUsesWith(
        memref::ViewOp::create(b, op.getType(), all, from, ValueRange())
            .getResult());
    op.erase();
  }
}

void shareBlock(func::FuncOp kernel, Team team) {
  auto loop = *kernel.getOps<scf::ForallOp>().begin();
  auto b = ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(),
                                              &kernel.getBody().front());
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value threads = arith::ConstantIndexOp::create(b, team.threads);
  Value number = arith::DivUIOp::create(b, thread, threads);
  divideTemporaries(kernel, team, number);
  b.setInsertionPoint(loop);
  SmallVector<OpFoldResult> steps = loop.getMixedStep();
  steps.back() = b.getIndexAttr(team.count);
  OpFoldResult end = loop.getMixedUpperBound().back();
  auto shared = scf::ForallOp::create(b, loop.getMixedLowerBound(),
                                      loop.getMixedUpperBound(), steps,
                                      ValueRange(), std::nullopt);
  b.setInsertionPointToStart(shared.getBody());
  SmallVector<Value> own(shared.getInductionVars());
  own.back() = arith::AddIOp::create(b, own.back(), number);
  Operation *before = shared.getTerminator();
  auto size = getConstantIntValue(end);
  if (!size || *size % team.count != 0) {
    Value last = getValueOrCreateConstantIndexOp(b, b.getLoc(), end);
    Value isInside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, own.back(), last);
    before = scf::IfOp::create(b, isInside, /*withElseRegion=*/false)
                 .thenBlock()
                 ->getTerminator();
  }
  for (auto [old, value] : llvm::zip_equal(loop.getInductionVars(), own))
    old.replaceAllUsesWith(value);
  for (Operation &op :
       llvm::make_early_inc_range(loop.getBody()->without_terminator()))
    op.moveBefore(before);
  loop.erase();
}

} // namespace ltc::compiler
