//===- partition.cpp - A large module in parts ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nine tenths of a compile are what becomes of kernels once they are apart from
// one another. Parts are compiled at the same time, by as many threads as there
// are.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/partition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

/// Some 80 ms of a compile, of which a few are the part's own.
constexpr size_t kOpsOfPart = 1000;
/// What has fewer stays whole: threads would save 50 ms at most, and take
/// memory that small programs do without.
constexpr size_t kLeastOps = 4 * kOpsOfPart;

size_t opsOf(ArrayRef<func::FuncOp> functions) {
  size_t count = 0;
  for (func::FuncOp function : functions)
    function.walk([&](Operation *) { ++count; });
  return count;
}

/// Declares in `part` what its functions refer to and it does not have.
void declareUsed(ModuleOp part, const SymbolTable &all) {
  SymbolTable own(part);
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&part.getBodyRegion());
  for (SymbolTable::SymbolUse use : *uses) {
    StringAttr name = use.getSymbolRef().getLeafReference();
    if (own.lookup(name))
      continue;
    own.insert(all.lookup(name)->cloneWithoutRegions(), part.getBody()->end());
  }
}

/// Moves functions to modules of about as many ops each.
void cut(ArrayRef<func::FuncOp> functions, SmallVector<ModuleOp> &parts) {
  size_t total = opsOf(functions), count = total / kOpsOfPart + 1;
  size_t taken = 0, last = count;
  for (func::FuncOp function : functions) {
    size_t ops = opsOf(function);
    // The part in which the middle of the function is, of equal parts.
    size_t number = (taken + ops / 2) * count / total;
    if (std::exchange(last, number) != number)
      parts.push_back(ModuleOp::create(function.getLoc()));
    taken += ops;
    function->moveBefore(parts.back().getBody(), parts.back().getBody()->end());
  }
}

} // namespace

void partition(ModuleOp module) {
  auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
  if (opsOf(kernels) < kLeastOps)
    return;
  SymbolTable all(module);
  SmallVector<ModuleOp> parts;
  cut(kernels, parts);
  for (ModuleOp part : parts) {
    part->setDiscardableAttrs(module->getDiscardableAttrDictionary());
    declareUsed(part, all);
  }
  // What is left was declared in the parts that use it.
  module.getBody()->clear();
  for (ModuleOp part : parts)
    module.push_back(part);
}

SmallVector<ModuleOp> partsOf(ModuleOp module) {
  auto parts = llvm::to_vector(module.getOps<ModuleOp>());
  if (parts.empty())
    parts.push_back(module);
  return parts;
}

} // namespace ltc::compiler
