//===- recipes.cpp - Files that tune a target -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/recipes.md says what a file looks like:
//
//   [target]                 # facts
//   enough_parts = 8
//   [pointwise bf16]         # a kind of kernel, or one of one dtype
//   tile = 8192
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/target_backend.h"
#include "mlir_lowering/target/tuning.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ltc::compiler {
namespace {

using llvm::StringRef;

/// A row of one of the tables.
struct Row {
  StringRef name;
  int64_t least, most;
};

constexpr Row kFacts[] = {
#define LTC_FACT(name, value, least, most, doc) {#name, least, most},
#include "mlir_lowering/target/facts.def"
#undef LTC_FACT
};

constexpr Row kSchedule[] = {
#define LTC_SCHEDULE(name, pointwise, row_reduce, column_reduce, serial,       \
                     least, most, doc)                                         \
  {#name, least, most},
#include "mlir_lowering/target/schedule.def"
#undef LTC_SCHEDULE
};

constexpr StringRef kSections[] = {"target", kind::kPointwise, kind::kRowReduce,
                                   kind::kColumnReduce, kind::kSerial};

/// Reads one file, line by line.
class Reader {
public:
  Reader(const std::string &directory, const Recipes::File &file,
         int64_t vectorBits)
      : directory(directory), file(file), vectorBits(vectorBits) {}

  /// Adds its rules to those that are there.
  Status read(std::vector<TuningRule> &rules) {
    StringRef rest = file.text;
    while (!rest.empty()) {
      ++number;
      StringRef line;
      std::tie(line, rest) = rest.split('\n');
      line = line.split('#').first.trim();
      if (line.empty())
        continue;
      Status status = line.starts_with("[") ? open(line) : set(line, rules);
      if (!status)
        return status;
    }
    return {};
  }

private:
  Error wrong(const llvm::Twine &what, const llvm::Twine &hint) const {
    return {
        ErrorCode::InvalidArgument,
        Stage::Optimize,
        (directory + "/" + file.name + ":" + llvm::Twine(number) + ": " + what)
            .str(),
        "",
        {},
        hint.str()};
  }

  /// [kind] or [kind dtype]
  Status open(StringRef line) {
    if (!line.ends_with("]"))
      return wrong("'" + line + "' is no section", "a section is [pointwise]");
    auto [kind, dtype] = line.drop_front().drop_back().trim().split(' ');
    dtype = dtype.trim();
    if (!llvm::is_contained(kSections, kind))
      return wrong(
          "there is no section [" + kind + "]",
          "the sections are " + llvm::join(llvm::ArrayRef(kSections), ", ") +
              "; all but target may name a dtype, as [pointwise bf16]");
    if (!dtype.empty() && (kind == "target" || !parseDType(dtype)))
      return wrong(line + ": " +
                       (kind == "target" ? "the target has no dtype"
                                         : "'" + dtype.str() + "' is no dtype"),
                   "name a dtype as f32, f64, bf16, f16 or i64");
    section =
        TuningRule{kind == "target" ? "" : kind.str(), dtype.str(), "", 0, ""};
    isOpen = true;
    return {};
  }

  /// name = number
  Status set(StringRef line, std::vector<TuningRule> &rules) {
    auto [name, text] = line.split('=');
    name = name.trim(), text = text.trim();
    if (!isOpen || !line.contains('='))
      return wrong("'" + line + "' is " +
                       (isOpen ? "no line of a recipe" : "in no section"),
                   "write a section, as [pointwise], and lines such as "
                   "tile = 4096 below it");
    llvm::ArrayRef<Row> rows(kFacts);
    if (!section.kind.empty())
      rows = kSchedule;
    const Row *row = llvm::find_if(
        rows, [name = name](const Row &row) { return row.name == name; });
    if (row == rows.end())
      return wrong("there is no number '" + name + "' of [" + title() + "]",
                   "its numbers are " + names(rows));
    int64_t value = 0;
    if (text.getAsInteger(10, value) || value < row->least || value > row->most)
      return wrong(name + " is '" + text + "'",
                   "it is a whole number from " + llvm::Twine(row->least) +
                       " to " + llvm::Twine(row->most));
    if (name == "vector_bits" &&
        (!llvm::isPowerOf2_64(uint64_t(value)) || value > vectorBits))
      return wrong("vector_bits is " + llvm::Twine(value),
                   "it is a power of two, at most " + llvm::Twine(vectorBits) +
                       ", which this target has");
    section.name = row->name;
    section.value = value;
    section.origin = file.name + ":" + std::to_string(number);
    rules.push_back(section);
    return {};
  }

  std::string title() const {
    return section.kind.empty() ? "target" : section.kind;
  }

  static std::string names(llvm::ArrayRef<Row> rows) {
    std::vector<StringRef> found;
    for (const Row &row : rows)
      found.push_back(row.name);
    return llvm::join(found, ", ");
  }

  const std::string &directory;
  const Recipes::File &file;
  const int64_t vectorBits;
  TuningRule section;
  bool isOpen = false;
  unsigned number = 0;
};

} // namespace

Status Tuning::addRecipes(const Recipes &recipes, const Target &target) {
  std::vector<TuningRule> ofKind, ofCpu;
  for (const Recipes::File &file : recipes.files) {
    auto [kind, cpu] =
        StringRef(file.name).drop_back(StringRef(".recipe").size()).split('.');
    if (auto backend = findBackend(kind.str()); !backend) {
      Error error = backend.takeError();
      error.code = ErrorCode::InvalidArgument;
      error.message = recipes.directory + "/" + file.name +
                      " is for no kind of target: " + error.message;
      return error;
    }
    std::vector<TuningRule> rules;
    if (Status status =
            Reader(recipes.directory, file, facts.vector_bits).read(rules);
        !status)
      return status;
    if (kind == target.kind && (cpu.empty() || cpu == target.cpu))
      llvm::append_range(cpu.empty() ? ofKind : ofCpu, std::move(rules));
  }
  // What is said of one CPU comes last, and wins.
  for (TuningRule &rule : ofKind)
    add(std::move(rule));
  for (TuningRule &rule : ofCpu)
    add(std::move(rule));
  return {};
}

} // namespace ltc::compiler
