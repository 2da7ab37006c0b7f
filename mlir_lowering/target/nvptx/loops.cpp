//===- loops.cpp - Kernels on memrefs into loops of threads ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/generics.h"
#include "mlir_lowering/target/nvptx/block_nest.h"
#include "mlir_lowering/target/nvptx/choose_shares.h"
#include "mlir_lowering/target/nvptx/nvptx.h"
#include "mlir_lowering/target/nvptx/product_loops.h"
#include "mlir_lowering/target/nvptx/scatter_loops.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// All threads of a block run what is outside of the ops: it must be what each
/// may do for itself.
static LogicalResult checkOutside(func::FuncOp kernel) {
  auto refuse = [](Operation *op, StringRef why) {
    op->emitError(why);
    return WalkResult::interrupt();
  };
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<GenericOp>(op))
      return WalkResult::skip();
    if (isa<memref::AllocOp>(op))
      return refuse(op, "a temporary of a block is larger than the memory that "
                        "its threads share");
    if (isa<memref::StoreOp>(op))
      return refuse(op, "all threads of a block would store this");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {

/// Writes the loops of a kernel's ops in turn.
class Writer {
public:
  Writer(ArrayRef<GenericOp> ops, Team team, int64_t lanes, unsigned vectorBits)
      : ops(ops), team(team), lanes(lanes), vectorBits(vectorBits) {}

  LogicalResult run(const std::optional<MatrixTile> &tile, bool isParallel) {
    for (size_t number = 0; number < ops.size(); ++number) {
      GenericOp op = ops[number];
      if (isParallel && !op->getParentOfType<scf::ForallOp>())
        return op.emitError("every block would do this");
      if (!tile || !MatrixProduct::of(op))
        write(op, ops.drop_front(number + 1));
      else if (failed(ProductLoops(op, *tile, registers).emit()))
        return failure();
    }
    return success();
  }

private:
  using NestPtr = std::unique_ptr<BlockNest>;

  NestPtr nestOf(GenericOp op) {
    NestPtr nest = std::move(ahead[op]);
    return nest ? std::move(nest)
                : std::make_unique<BlockNest>(op, team, lanes, vectorBits,
                                              registers);
  }

  void write(GenericOp op, ArrayRef<GenericOp> behind) {
    NestPtr nest = nestOf(op);
    if (op == sum)
      return nest->runBelow(*max);
    if (GenericOp below = sumBelow(op, behind)) {
      NestPtr &other = ahead[below] = nestOf(below);
      if (other->isBelow(*nest)) {
        sum = below;
        max = std::move(nest);
        return;
      }
    }
    nest->run();
  }

  ArrayRef<GenericOp> ops;
  Team team;
  int64_t lanes;
  unsigned vectorBits;
  Registers registers;
  llvm::DenseMap<Operation *, NestPtr> ahead;
  NestPtr max; ///< which waits for
  GenericOp sum;
};

} // namespace

LogicalResult NvptxBackend::emitLoops(func::FuncOp kernel,
                                      const Schedule &schedule,
                                      const TargetFacts &facts) const {
  FailureOr<SmallVector<GenericOp>> generics = genericsOf(kernel);
  if (failed(generics) || failed(checkOutside(kernel)))
    return failure();
  if (CallOp scatter = scatterIn(kernel)) {
    ScatterLoops(scatter, schedule.threads).emit(kernel);
    return success();
  }
  OpBuilder b(kernel.getContext());
  bool isParallel = !kernel.getOps<scf::ForallOp>().empty();
  int64_t lanes =
      std::max<int64_t>(1, facts.vector_bits / widestElement(*generics));
  std::optional<MatrixTile> tile = MatrixTile::read(kernel);
  Team team = tile ? Team{tile->threads()}
                   : chooseTeam(kernel, *generics, schedule, lanes);
  kernel->setAttr(attr::kThreads,
                  b.getI64IntegerAttr(team.threads * team.count));
  if (!tile && team.threads <= kWarp)
    kernel->setAttr(attr::kTeam, b.getI64IntegerAttr(team.threads));
  Writer writer(*generics, team, lanes, facts.vector_bits);
  if (failed(writer.run(tile, isParallel)))
    return failure();
  eraseUnreadTemporaries(kernel);
  if (team.count > 1)
    shareBlock(kernel, team);
  return success();
}

} // namespace ltc::compiler
