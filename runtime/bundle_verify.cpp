//===- bundle_verify.cpp - Whether a bundle's numbers name what is there --===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/bundle.h"

#include <algorithm>
#include <set>

namespace ltc {

namespace {

using Source = Bundle::Source;

constexpr size_t kMaxRank = 64; // of a tensor, in PyTorch

bool isInside(const Bundle::Place &place, uint64_t bytes) {
  return place.offset % 8 == 0 && place.offset <= bytes &&
         place.bytes <= bytes - place.offset;
}

bool isGood(const Bundle::Weight &weight, uint64_t bytes) {
  uint64_t wanted = byteSize(weight.type.dtype);
  for (int64_t dim : weight.type.dims)
    if (dim < 0 || __builtin_mul_overflow(wanted, uint64_t(dim), &wanted))
      return false;
  return weight.type.dims.size() <= kMaxRank && weight.place.bytes == wanted &&
         isInside(weight.place, bytes);
}

class EntryCheck {
public:
  EntryCheck(const Bundle &bundle, const Bundle::Entry &entry)
      : bundle(bundle), entry(entry) {}

  /// What is wrong, or null.
  const char *run(uint64_t fileBytes) const {
    if (entry.programs.size() != bundle.targets.size() ||
        !std::ranges::all_of(entry.programs, [&](const Bundle::Place &place) {
          return isInside(place, fileBytes);
        }))
      return "a program lies outside of it";
    if (!std::ranges::all_of(entry.inputs,
                             [&](auto &v) { return isGood(v); }) ||
        !std::ranges::all_of(entry.outputs, [&](auto &v) {
          return isGood(v) && v.role == Bundle::Value::Plain;
        }))
      return "a size names a symbol that is not there";
    if (!std::ranges::all_of(entry.symbols,
                             [&](auto &symbol) { return isGood(symbol); }) ||
        !std::ranges::all_of(entry.derived,
                             [&](auto &derived) { return isGood(derived); }))
      return "a symbol names a size that is not there";
    if (entry.results.size() != entry.outputs.size() ||
        !std::ranges::all_of(entry.sources,
                             [&](auto &s) { return isInput(s); }) ||
        !std::ranges::all_of(entry.results,
                             [&](auto &s) { return isOutput(s); }))
      return "a value comes from what is not there";
    for (const Bundle::Write &write : entry.writes)
      if (!isOutput(write.value) || !mayBeWritten(write.to))
        return "a value is written to what must stay";
    return nullptr;
  }

private:
  bool isGood(const Formula &formula) const {
    return formula.symbolCount() <= entry.symbols.size();
  }
  bool isThere(uint32_t input, uint32_t dim) const {
    return input < entry.inputs.size() && dim < entry.inputs[input].dims.size();
  }
  bool isGood(const Bundle::Symbol &symbol) const {
    return symbol.factor >= 1 && (symbol.input == Bundle::Symbol::kDerived
                                      ? symbol.dim < entry.derived.size()
                                      : isThere(symbol.input, symbol.dim));
  }
  bool isGood(const DerivedSize &derived) const {
    using Step = DerivedSize::Step;
    return derived.isWhole() && isGood(derived.formula) &&
           std::ranges::all_of(derived.steps, [&](const Step &step) {
             return step.kind != Step::Size || isThere(step.input, step.dim);
           });
  }
  bool isGood(const Bundle::Value &value) const {
    if (value.role == Bundle::Value::Integer &&
        (value.dtype != DType::I64 || value.dims.size() != 1))
      return false;
    return value.dims.size() <= kMaxRank &&
           std::ranges::all_of(value.dims, [&](const Bundle::Dim &dim) {
             return isGood(dim.size);
           });
  }
  bool isInput(const Source &source) const {
    switch (source.kind) {
    case Source::Input:
      return source.index < entry.inputs.size() &&
             entry.inputs[source.index].role != Bundle::Value::Integer;
    case Source::Weight:
      return source.index < bundle.weights.size();
    case Source::Result:
      return false;
    case Source::Number:
      return isGood(source.formula);
    case Source::Real:
    case Source::Seed:
      return true;
    }
    return false;
  }
  // Of which result there are how many is known once the program is read.
  bool isOutput(const Source &source) const {
    return source.kind == Source::Result ||
           (source.kind < Source::Result && isInput(source));
  }
  bool mayBeWritten(const Source &to) const {
    return to.kind < Source::Result && isInput(to) &&
           (to.kind == Source::Input
                ? entry.inputs[to.index].role == Bundle::Value::Written
                : bundle.weights[to.index].isState);
  }

  const Bundle &bundle;
  const Bundle::Entry &entry;
};

} // namespace

Status Bundle::verify(uint64_t fileBytes, uint64_t besideBytes) const {
  auto refused = [](const std::string &why) {
    return Error{ErrorCode::InvalidArgument,
                 Stage::Execute,
                 "not a good bundle: " + why,
                 "",
                 {},
                 ""};
  };
  if (targets.empty() || entries.empty())
    return refused("it has no program");
  for (const Weight &weight : weights)
    if (!isGood(weight, bytesBeside ? besideBytes : fileBytes))
      return refused("weight " + weight.name + " lies outside of it");
  std::set<std::string_view> names;
  for (const Entry &entry : entries) {
    if (!names.insert(entry.name).second)
      return refused("two entries are named " + entry.name);
    if (const char *why = EntryCheck(*this, entry).run(fileBytes))
      return refused("in entry " + entry.name + " " + why);
  }
  return {};
}

} // namespace ltc
