//===- checks.cpp - Checks as comparisons and cold calls --------*- C++ -*-===//
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
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace ltc::compiler {

static constexpr StringLiteral kIndexError = "ltc_index_error";
static constexpr StringLiteral kValueError = "ltc_value_error";

/// A reporter touches no memory of ours, so that a check does not keep loads
/// from moving across it.
static void declareReport(ModuleOp module, StringRef name, unsigned words) {
  if (module.lookupSymbol(name))
    return;
  auto b = ImplicitLocOpBuilder::atBlockEnd(module.getLoc(), module.getBody());
  SmallVector<Type> arguments(words, b.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), arguments);
  auto report = LLVM::LLVMFuncOp::create(b, name, type);
  auto none = LLVM::ModRefInfo::NoModRef;
  report.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
      b.getContext(), none, none, LLVM::ModRefInfo::ModRef, none, none, none));
  report.setPassthroughAttr(
      b.getArrayAttr({b.getStringAttr("nounwind"),
                      b.getStringAttr("willreturn"), b.getStringAttr("cold")}));
}

/// Calls `name(words)` if `bad`.
static void reportIf(ImplicitLocOpBuilder &b, Value bad, StringRef name,
                     ValueRange words) {
  auto branch = scf::IfOp::create(b, bad, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  LLVM::CallOp::create(b, TypeRange(), name, words);
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
  Type word = b.getI64Type();
  Value number = arith::ConstantOp::create(b, b.getI64IntegerAttr(site));
  Value found = arith::IndexCastOp::create(b, word, index);
  Value wanted = arith::IndexCastOp::create(b, word, bound);
  reportIf(b, bad, kIndexError, {number, found, wanted});
  Value result = arith::SelectOp::create(b, bad, zero, safe);
  check.getResult().replaceAllUsesWith(result);
  check.erase();
}

/// A divisor that a loop does not change is checked in front of the loop, for
/// the case that the loop runs at all: its body may be turned into vectors.
static void lowerCheck(CheckDivisorOp check, int64_t site) {
  // The casts of a divisor that is a scalar come in front of the loops first.
  for (auto loop = check->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    moveLoopInvariantCode(loop);
  Value divisor = check.getDivisor();
  SmallVector<scf::ForOp> around;
  for (Operation *parent = check->getParentOp();;
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || !loop.isDefinedOutsideOfLoop(divisor) ||
        !llvm::all_of(around, [&](scf::ForOp inner) {
          return loop.isDefinedOutsideOfLoop(inner.getLowerBound()) &&
                 loop.isDefinedOutsideOfLoop(inner.getUpperBound());
        }))
      break;
    around.push_back(loop);
  }
  ImplicitLocOpBuilder b(check.getLoc(),
                         around.empty() ? check : around.back());
  Type type = divisor.getType();
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(type, 0));
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(type, 1));
  Value bad = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, divisor, zero);
  Value result = arith::SelectOp::create(b, bad, one, divisor);
  for (scf::ForOp loop : around)
    bad = arith::AndIOp::create(
        b, bad,
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                              loop.getLowerBound(), loop.getUpperBound()));
  Value number = arith::ConstantOp::create(b, b.getI64IntegerAttr(site));
  reportIf(b, bad, kValueError, number);
  check.getResult().replaceAllUsesWith(result);
  check.erase();
}

static void lowerCheck(CheckOp check, int64_t site) {
  ImplicitLocOpBuilder b(check.getLoc(), check);
  Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
  Value bad = arith::XOrIOp::create(b, check.getHolds(), yes);
  Value number = arith::ConstantOp::create(b, b.getI64IntegerAttr(site));
  reportIf(b, bad, kValueError, number);
  check.getResult().replaceAllUsesWith(check.getValue());
  check.erase();
}

static StringRef wordsOf(CheckIndexOp) { return ""; }
/// Eager's own words, though no class of that name is raised.
static StringRef wordsOf(CheckDivisorOp) { return "ZeroDivisionError"; }
static StringRef wordsOf(CheckOp check) { return check.getWords(); }

template <typename Check, typename Number>
static void lowerAll(ModuleOp module, StringRef report, unsigned words,
                     Number number) {
  // Not inside a walk: what is hoisted may be where the walk would go on.
  SmallVector<Check> checks;
  module.walk([&](Check check) { checks.push_back(check); });
  for (Check check : checks) {
    declareReport(module, report, words);
    lowerCheck(check, number(check.getSite(), wordsOf(check)));
  }
}

void lowerChecks(ModuleOp module, std::vector<Artifact::ErrorSite> &sites,
                 const std::function<Artifact::ErrorSite(int64_t)> &describe) {
  std::map<std::pair<int64_t, std::string>, int64_t> numbers;
  auto number = [&](int64_t site, StringRef words) {
    auto [found, isNew] =
        numbers.try_emplace({site, words.str()}, sites.size());
    if (isNew) {
      sites.push_back(describe(site));
      if (!words.empty())
        sites.back().words = words;
    }
    return found->second;
  };
  lowerAll<CheckIndexOp>(module, kIndexError, 3, number);
  lowerAll<CheckDivisorOp>(module, kValueError, 1, number);
  lowerAll<CheckOp>(module, kValueError, 1, number);
}

} // namespace ltc::compiler
