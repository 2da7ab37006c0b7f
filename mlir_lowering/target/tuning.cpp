//===- tuning.cpp - The numbers that a target is tuned by -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/tuning.h"

#include "mlir_lowering/dialect/element_type.h"

using namespace mlir;

namespace ltc::compiler {

using Changes = llvm::StringMap<const TuningRule *>;

/// What schedule.def says of a kind.
static Schedule defaultSchedule(StringRef kind) {
  Schedule schedule;
#define LTC_SCHEDULE(name, pointwise, row_reduce, column_reduce, serial,       \
                     least, most, doc)                                         \
  schedule.name = kind == kind::kPointwise      ? (pointwise)                  \
                  : kind == kind::kRowReduce    ? (row_reduce)                 \
                  : kind == kind::kColumnReduce ? (column_reduce)              \
                                                : (serial);
#include "mlir_lowering/target/schedule.def"
#undef LTC_SCHEDULE
  return schedule;
}

static void set(Schedule &schedule, StringRef row, int64_t value) {
#define LTC_SCHEDULE(name, pointwise, row_reduce, column_reduce, serial,       \
                     least, most, doc)                                         \
  if (row == #name)                                                            \
    schedule.name = value;
#include "mlir_lowering/target/schedule.def"
#undef LTC_SCHEDULE
}

static void set(TargetFacts &facts, StringRef row, int64_t value) {
#define LTC_FACT(name, initial, least, most, doc)                              \
  if (row == #name)                                                            \
    facts.name = value;
#include "mlir_lowering/target/facts.def"
#undef LTC_FACT
}

void Tuning::add(TuningRule rule) {
  if (rule.kind.empty())
    set(facts, rule.name, rule.value);
  rules.push_back(std::move(rule));
}

Schedule Tuning::schedule(StringRef kind) const {
  Schedule schedule = defaultSchedule(kind);
  for (const TuningRule &rule : rules)
    if (rule.kind == kind && rule.dtype.empty())
      set(schedule, rule.name, rule.value);
  return schedule;
}

Schedule Tuning::schedule(func::FuncOp kernel) const {
  Schedule schedule =
      defaultSchedule(kernel->getAttrOfType<StringAttr>(attr::kKind));
  if (auto changes = kernel->getAttrOfType<DictionaryAttr>(attr::kSchedule))
    for (NamedAttribute change : changes)
      if (auto value = dyn_cast<IntegerAttr>(change.getValue()))
        set(schedule, change.getName(), value.getInt());
  return schedule;
}

/// What recipes call the dtype of a kernel; empty if it has no result.
static StringRef dtypeOf(func::FuncOp kernel) {
  for (Type type : kernel.getResultTypes())
    if (auto dtype = impliedDType(getElementTypeOrSelf(type)))
      return name(*dtype);
  return "";
}

static void printNumber(llvm::raw_ostream &out, StringRef name, int64_t value,
                        const Changes &changes) {
  out << ' ' << name << '=' << value;
  if (const TuningRule *rule = changes.lookup(name))
    out << " (" << rule->origin << ')';
}

void Tuning::print(llvm::raw_ostream &out) const {
  Changes changes;
  for (const TuningRule &rule : rules)
    if (rule.kind.empty())
      changes[rule.name] = &rule;
  out << "target:";
#define LTC_FACT(name, initial, least, most, doc)                              \
  printNumber(out, #name, facts.name, changes);
#include "mlir_lowering/target/facts.def"
#undef LTC_FACT
  out << '\n';
}

void Tuning::assign(func::FuncOp kernel, llvm::raw_ostream *report) const {
  StringRef kind = kernel->getAttrOfType<StringAttr>(attr::kKind);
  StringRef dtype = dtypeOf(kernel);
  Changes changes;
  for (const TuningRule &rule : rules)
    if (rule.kind == kind && (rule.dtype.empty() || dtype == rule.dtype))
      changes[rule.name] = &rule;
  if (!changes.empty()) {
    NamedAttrList numbers;
    Builder b(kernel.getContext());
    for (const auto &change : changes)
      numbers.set(change.first(), b.getI64IntegerAttr(change.second->value));
    kernel->setAttr(attr::kSchedule, numbers.getDictionary(b.getContext()));
  }
  if (!report)
    return;
  Schedule assigned = schedule(kernel);
  *report << '@' << kernel.getName() << ": " << kind;
  if (!dtype.empty())
    *report << ' ' << dtype;
#define LTC_SCHEDULE(name, pointwise, row_reduce, column_reduce, serial,       \
                     least, most, doc)                                         \
  printNumber(*report, #name, assigned.name, changes);
#include "mlir_lowering/target/schedule.def"
#undef LTC_SCHEDULE
  *report << '\n';
}

} // namespace ltc::compiler
