//===- nvptx.cpp - Which GPU code is generated for ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir_lowering/target/llvm/llvm.h"
#include "mlir_lowering/target/loops/tile_kernel.h"
#include "mlir_lowering/target/nvptx/matrix_tile.h"
#include "mlir_lowering/target/nvptx/scatter_loops.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ltc::compiler {

Target NvptxBackend::resolve(Target target) const {
  if (target.triple.empty())
    target.triple = "nvptx64-nvidia-cuda";
  if (target.cpu.empty())
    target.cpu = "sm_80";
  if (target.features.empty())
    target.features = "+ptx80";
  return target;
}

Tuning NvptxBackend::tuning(const Target &target) const {
  Tuning tuning;
  TargetFacts &facts = tuning.facts;
  facts.vector_bits = 128;
  facts.enough_parts = 512; // four blocks for each multiprocessor of an H100
  facts.parallel_work = int64_t(1) << 40; // blocks have no threads to wake
  // Sums in parts, of which a block adds up each.
  facts.part_work = 16L * 1024;
  facts.part_points = 64;
  facts.little_work = 32L * 1024;
  // Arithmetic costs less than memory, but an exponential is worth keeping.
  facts.replay_cost = 19;
  // Of 48 KB that a block may have without asking, folds take some.
  facts.stack_bytes = facts.row_bytes = int64_t(40) * 1024;
  auto add = [&](StringRef kind, StringRef name, int64_t value) {
    tuning.add({kind.str(), "", name, value, "nvptx"});
  };
  for (StringRef kind :
       {kind::kPointwise, kind::kRowReduce, kind::kColumnReduce, kind::kSerial})
    add(kind, "threads", 256);
  add(kind::kRowReduce, "threads", 512);
  add(kind::kPointwise, "tile", 2048);     // two vectors of f32 a thread
  add(kind::kPointwise, "cross_tile", 64); // through shared memory
  // Threads share rows too: a warp reads a whole line of memory of each.
  add(kind::kColumnReduce, "tile", 64);
  add(kind::kColumnReduce, "wide_tile", 0);
  return tuning;
}

LogicalResult NvptxBackend::schedule(func::FuncOp kernel,
                                     const Schedule &schedule) const {
  if (scatterIn(kernel))
    return success(); // its loops are made of it as a whole
  FailureOr<bool> isTiled = tileProduct(kernel);
  if (failed(isTiled))
    return failure();
  return success(*isTiled || succeeded(tileKernel(kernel, schedule)));
}

/// What LLVM has instructions for on a GPU, or expands exactly. For others it
/// would end the process.
static bool hasInstructions(StringRef intrinsic) {
  static const llvm::StringSet<> known{
      "abs",       "assume",  "ceil",      "copysign",  "ctlz",    "ctpop",
      "cttz",      "fabs",    "floor",     "fma",       "fmuladd", "fshl",
      "fshr",      "maximum", "maxnum",    "minimum",   "minnum",  "rint",
      "nearbyint", "round",   "roundeven", "smax",      "smin",    "sqrt",
      "trunc",     "umax",    "umin",      "is.fpclass"};
  return known.contains(intrinsic) || intrinsic.starts_with("vector.reduce.");
}

/// There is no C library to call from a kernel.
static LogicalResult checkFunctions(ModuleOp part) {
  WalkResult result = part.walk([](Operation *op) {
    StringRef name = op->getName().getStringRef();
    bool isKnown = !isa<LLVM::FRemOp>(op); // LLVM's is not exact
    if (auto call = dyn_cast<LLVM::CallOp>(op)) {
      name = call.getCallee().value_or(name);
      isKnown = name.starts_with("ltc_");
    } else if (name.consume_front("llvm.intr.")) {
      isKnown = hasInstructions(name);
    }
    if (isKnown)
      return WalkResult::advance();
    op->emitError("there is no code for a GPU for the function ") << name;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult NvptxBackend::lower(ModuleOp part,
                                  const TargetFacts &facts) const {
  return success(succeeded(lowerGpuOps(part)) &&
                 succeeded(lowerToLlvm(part, facts.vector_bits)) &&
                 succeeded(checkFunctions(part)));
}

namespace targets {
const TargetBackend &nvptx() {
  static const NvptxBackend backend;
  return backend;
}
} // namespace targets

} // namespace ltc::compiler
