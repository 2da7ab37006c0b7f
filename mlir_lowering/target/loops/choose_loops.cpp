//===- choose_loops.cpp - Which loops of a nest become vectors --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/choose_loops.h"

#include "mlir_lowering/target/loops/vector_body.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// Which results a vectorised parallel loop may have.
enum class Results { Along, Across };

static bool isCandidate(GenericOp op, const Nest &nest, unsigned loop,
                        Results results) {
  const Loop &candidate = nest.loops[loop];
  for (const Access &access :
       ArrayRef(nest.accesses).drop_front(op.getNumDpsInputs())) {
    if (access.general)
      return false;
    int64_t stride = access.strides[loop];
    if (candidate.reduction          ? stride != 0
        : results == Results::Across ? stride == 0
                                     : stride != 1)
      return false;
  }
  for (const Access &access : nest.accesses)
    if (access.general && access.strides[loop] != 0)
      return false;
  if (candidate.reduction && !Folding::of(op))
    return false;
  return VectorBody(op, nest, loop).isLegal();
}

/// What an operand says for a loop that runs along it, or against one that
/// strides through it: twice as much if there is an element for each point.
static int64_t weightOf(const Access &access) {
  for (unsigned loop = 0; loop < access.strides.size(); ++loop)
    if (access.isUniformAlong(loop))
      return 4;
  return 8;
}

static int chooseVectorLoop(GenericOp op, const Nest &nest, Results results) {
  int64_t best = -1;
  int chosen = -1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    int64_t score = nest.loops[loop].reduction ? 0 : 1;
    for (const Access &access : nest.accesses)
      if (!access.isUniformAlong(loop))
        score +=
            access.strides[loop] == 1 ? weightOf(access) : -weightOf(access);
    if (nest.loops[loop].extent < 4 && nest.loops.size() > 1 &&
        !ShapedType::isDynamic(nest.loops[loop].extent))
      score -= 8;
    if (score > best && isCandidate(op, nest, loop, results)) {
      best = score;
      chosen = loop;
    }
  }
  return chosen;
}

/// Finds the one other loop along which all of the operands run that do not
/// run along the vectorised one. There need not be one for those that are read.
static bool chooseCrossLoop(GenericOp op, const Nest &nest,
                            LoopChoice &choice) {
  constexpr size_t most = 2; // squares that registers hold
  int vectorLoop = choice.vectorLoop, found = -1;
  if (choice.lanes < 4 || op.getNumParallelLoops() != op.getNumLoops())
    return false;
  SmallVector<unsigned> crossing;
  for (auto [i, access] : llvm::enumerate(nest.accesses)) {
    if (access.isScalar || access.general ||
        access.isUniformAlong(vectorLoop) || access.strides[vectorLoop] == 1)
      continue;
    auto along = llvm::find(access.strides, 1);
    int loop = int(along - access.strides.begin());
    if (along == access.strides.end() || (found >= 0 && loop != found))
      return false;
    found = loop;
    crossing.push_back(i);
  }
  auto fillsVectors = [&](int loop) {
    int64_t extent = nest.loops[loop].extent;
    return ShapedType::isDynamic(extent) || extent >= choice.lanes;
  };
  if (found < 0 || crossing.size() > most || !fillsVectors(found) ||
      !fillsVectors(vectorLoop))
    return false;
  choice.crossLoop = found;
  choice.crossing = std::move(crossing);
  return true;
}

LoopChoice chooseLoops(GenericOp op, const Nest &nest, unsigned vectorBits) {
  LoopChoice choice;
  if (op.getNumReductionLoops() != 0)
    choice.folding = Folding::of(op);
  if (vectorBits == 0)
    return choice;
  choice.vectorLoop = chooseVectorLoop(op, nest, Results::Along);
  bool across = choice.vectorLoop < 0;
  if (across)
    choice.vectorLoop = chooseVectorLoop(op, nest, Results::Across);
  if (choice.vectorLoop < 0)
    return choice;
  const Loop &loop = nest.loops[choice.vectorLoop];
  choice.lanes = vectorBits / 32;
  while (!ShapedType::isDynamic(loop.extent) &&
         choice.lanes / 2 >= loop.extent && choice.lanes > 1)
    choice.lanes /= 2;
  if (!chooseCrossLoop(op, nest, choice) && across)
    choice.vectorLoop = -1;
  return choice;
}

} // namespace ltc::compiler
