//===- choose_loops.cpp - Which loops of a nest become vectors --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/choose_loops.h"

#include "mlir_lowering/optimize/vector_body.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

static bool isCandidate(GenericOp op, const Nest &nest, unsigned loop) {
  const Loop &candidate = nest.loops[loop];
  for (const Access &access :
       ArrayRef(nest.accesses).drop_front(op.getNumDpsInputs()))
    if (access.general || access.strides[loop] != (candidate.reduction ? 0 : 1))
      return false;
  for (const Access &access : nest.accesses)
    if (access.general && access.strides[loop] != 0)
      return false;
  if (candidate.reduction && !Folding::of(op))
    return false;
  return VectorBody(op, nest, loop).isLegal();
}

static int chooseVectorLoop(GenericOp op, const Nest &nest) {
  int64_t best = -1;
  int chosen = -1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    int64_t score = nest.loops[loop].reduction ? 0 : 1;
    for (const Access &access : nest.accesses)
      score += !access.isScalar && access.strides[loop] == 1 ? 4
               : !access.isUniformAlong(loop)                ? -4
                                                             : 0;
    if (nest.loops[loop].extent < 4 && nest.loops.size() > 1 &&
        !ShapedType::isDynamic(nest.loops[loop].extent))
      score -= 8;
    if (score > best && isCandidate(op, nest, loop)) {
      best = score;
      chosen = loop;
    }
  }
  return chosen;
}

/// Finds the one other loop along which all of the operands run that do not
/// run along the vectorised one.
static void chooseCrossLoop(GenericOp op, const Nest &nest,
                            LoopChoice &choice) {
  constexpr size_t most = 2; // squares that registers hold
  int vectorLoop = choice.vectorLoop, found = -1;
  if (choice.lanes < 4 || op.getNumParallelLoops() != op.getNumLoops())
    return;
  SmallVector<unsigned> crossing;
  for (int64_t i = 0; i < op.getNumDpsInputs(); ++i) {
    const Access &access = nest.accesses[i];
    if (access.isScalar || access.general ||
        access.isUniformAlong(vectorLoop) || access.strides[vectorLoop] == 1)
      continue;
    auto along = llvm::find(access.strides, 1);
    int loop = int(along - access.strides.begin());
    if (along == access.strides.end() || (found >= 0 && loop != found))
      return;
    found = loop;
    crossing.push_back(i);
  }
  auto fillsVectors = [&](int loop) {
    int64_t extent = nest.loops[loop].extent;
    return ShapedType::isDynamic(extent) || extent >= choice.lanes;
  };
  if (found < 0 || crossing.size() > most || !fillsVectors(found) ||
      !fillsVectors(vectorLoop))
    return;
  choice.crossLoop = found;
  choice.crossing = std::move(crossing);
}

LoopChoice chooseLoops(GenericOp op, const Nest &nest, const Machine &machine) {
  LoopChoice choice;
  if (op.getNumReductionLoops() != 0)
    choice.folding = Folding::of(op);
  if (machine.vectorBits == 0)
    return choice;
  choice.vectorLoop = chooseVectorLoop(op, nest);
  if (choice.vectorLoop < 0)
    return choice;
  const Loop &loop = nest.loops[choice.vectorLoop];
  choice.lanes = machine.vectorBits / 32;
  while (!ShapedType::isDynamic(loop.extent) &&
         choice.lanes / 2 >= loop.extent && choice.lanes > 1)
    choice.lanes /= 2;
  chooseCrossLoop(op, nest, choice);
  return choice;
}

} // namespace ltc::compiler
