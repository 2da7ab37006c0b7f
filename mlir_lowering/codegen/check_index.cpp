//===- check_index.cpp - Index checks as cold calls -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/dialect/ltc_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace ltc::compiler {

static constexpr StringLiteral kReport = "ltc_index_error";

/// The reporter touches no memory of ours, so that a check does not keep
/// loads from moving across it.
static void declareReport(ModuleOp module) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(module.getLoc(), module.getBody());
  Type word = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {word, word, word});
  auto report = LLVM::LLVMFuncOp::create(b, kReport, type);
  auto none = LLVM::ModRefInfo::NoModRef;
  report.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
      b.getContext(), none, none, LLVM::ModRefInfo::ModRef, none, none, none));
  report.setPassthroughAttr(
      b.getArrayAttr({b.getStringAttr("nounwind"),
                      b.getStringAttr("willreturn"), b.getStringAttr("cold")}));
}

static void lowerCheck(CheckIndexOp check, int64_t site) {
  ImplicitLocOpBuilder b(check.getLoc(), check);
  Value index = check.getIndex(), bound = check.getBound();
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value safe = index;
  if (check.getWrap()) {
    Value negative =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, zero);
    Value wrapped = arith::AddIOp::create(b, index, bound);
    safe = arith::SelectOp::create(b, negative, wrapped, index);
  }
  Value bad = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, safe, bound);
  auto branch = scf::IfOp::create(b, bad, /*withElseRegion=*/false);
  Value result = arith::SelectOp::create(b, bad, zero, safe);
  check.getResult().replaceAllUsesWith(result);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  Type word = b.getI64Type();
  Value number = arith::ConstantOp::create(b, b.getI64IntegerAttr(site));
  Value found = arith::IndexCastOp::create(b, word, index);
  Value wanted = arith::IndexCastOp::create(b, word, bound);
  LLVM::CallOp::create(b, TypeRange(), kReport,
                       ValueRange{number, found, wanted});
  check.erase();
}

LogicalResult
lowerIndexChecks(ModuleOp module, std::vector<Artifact::ErrorSite> &sites,
                 const std::function<Artifact::ErrorSite(int64_t)> &describe) {
  SmallVector<CheckIndexOp> checks;
  module.walk([&](CheckIndexOp check) { checks.push_back(check); });
  if (checks.empty())
    return success();
  declareReport(module);
  std::map<int64_t, int64_t> numbers;
  for (CheckIndexOp check : checks) {
    auto [found, isNew] = numbers.try_emplace(check.getSite(), sites.size());
    if (isNew)
      sites.push_back(describe(check.getSite()));
    lowerCheck(check, found->second);
  }
  return success();
}

} // namespace ltc::compiler
