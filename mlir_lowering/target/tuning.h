//===- tuning.h - The numbers that a target is tuned by ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of facts for a target (facts.def), and one of schedules for its
// kernels (schedule.def). A backend says where its own differ, then recipes do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/recipes.h"
#include "ltc/target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ltc::compiler {

/// Kinds of kernels, for each of which a target has a schedule.
namespace kind {
inline constexpr llvm::StringLiteral kPointwise = "pointwise";
inline constexpr llvm::StringLiteral kRowReduce = "row_reduce";
inline constexpr llvm::StringLiteral kColumnReduce = "column_reduce";
inline constexpr llvm::StringLiteral kSerial = "serial";
} // namespace kind

namespace attr {
/// On a kernel: its kind.
inline constexpr llvm::StringLiteral kKind = "ltc.kind";
/// On a kernel: where its schedule is not that of its kind.
inline constexpr llvm::StringLiteral kSchedule = "ltc.schedule";
/// On a kernel: how many threads share an iteration of its loop; none: one.
inline constexpr llvm::StringLiteral kThreads = "ltc.threads";
/// On a kernel: how many words it takes.
inline constexpr llvm::StringLiteral kWords = "ltc.words";
} // namespace attr

struct TargetFacts {
#define LTC_FACT(name, value, least, most, doc) int64_t name = value;
#include "mlir_lowering/target/facts.def"
#undef LTC_FACT
};

struct Schedule {
#define LTC_SCHEDULE(name, pointwise, row_reduce, column_reduce, serial,       \
                     least, most, doc)                                         \
  int64_t name = 0;
#include "mlir_lowering/target/schedule.def"
#undef LTC_SCHEDULE
};

/// A number that differs from the tables'.
struct TuningRule {
  std::string kind;     ///< of kernels; empty: a fact of the target
  std::string dtype;    ///< of kernels; empty: any
  llvm::StringRef name; ///< a row of the table
  int64_t value = 0;
  std::string origin; ///< who says so: "cpu.recipe:4"
};

class Tuning {
public:
  /// Later rules win.
  void add(TuningRule rule);
  /// Adds what recipes say of the target. An InvalidArgument error names the
  /// file and the line that is wrong, whether or not it is for this target.
  Status addRecipes(const Recipes &recipes, const Target &target);

  TargetFacts facts;
  /// Of a kind of kernels, of no particular dtype.
  Schedule schedule(llvm::StringRef kind) const;
  /// Of a kernel: what assign() wrote on it says where it differs.
  Schedule schedule(mlir::func::FuncOp kernel) const;
  /// Writes on a kernel on tensors what rules change of its schedule, and all
  /// of it to `report`, if there is one. Its dtype is its first result's.
  void assign(mlir::func::FuncOp kernel, llvm::raw_ostream *report) const;
  /// The facts, in one line.
  void print(llvm::raw_ostream &out) const;

private:
  std::vector<TuningRule> rules;
};

} // namespace ltc::compiler
