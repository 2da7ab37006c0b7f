//===- entry.cpp - One program of a model, ready to run ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "aot/entry.h"

#include "aot/aot_errors.h"
#include "device/host.h"
#include "drivers/cpu/map_images.h"

#include <algorithm>
#include <cstring>

namespace ltc::aot {

using Source = Bundle::Source;

Result<std::unique_ptr<Entry>> Entry::load(const Bundle &bundle,
                                           const Bundle::Entry &described,
                                           std::string_view bytes) {
  Result<Artifact> artifact = Artifact::deserialize(bytes);
  if (!artifact)
    return artifact.takeError();
  std::unique_ptr<Entry> entry(new Entry(described));
  entry->artifact = *artifact;
  entry->artifact.blobs.clear();
  if (Status status = entry->checkProgram(bundle); !status)
    return status.takeError();
  auto program = cpu::Program::make(std::move(*artifact), "image",
                                    cpu::mapImages, runtime::hostTable());
  if (!program)
    return program.takeError();
  entry->program = std::move(*program);
  entry->describe();
  return entry;
}

void Entry::describe() {
  auto describeAll = [this](const std::vector<Bundle::Value> &values,
                            std::vector<ltc_aot_value> &all) {
    for (const Bundle::Value &value : values) {
      std::vector<ltc_aot_dim> &between = dims.emplace_back();
      for (const Bundle::Dim &dim : value.dims) {
        int64_t size = dim.size.constant();
        between.push_back(dim.size.isConstant()
                              ? ltc_aot_dim{size, size}
                              : ltc_aot_dim{dim.least, dim.most});
      }
      all.push_back({value.name.c_str(), uint32_t(value.dtype),
                     uint32_t(value.rank()), between.data(),
                     value.role == Bundle::Value::Written,
                     value.role == Bundle::Value::Integer});
    }
  };
  dims.reserve(described.inputs.size() + described.outputs.size());
  describeAll(described.inputs, inputs);
  describeAll(described.outputs, outputs);
}

/// Types that do not agree would let a program read beyond what it is given.
Status Entry::checkProgram(const Bundle &bundle) const {
  const char *why = checkSources(bundle);
  if (!why)
    why = checkResults(bundle);
  if (!why)
    return {};
  return invalid("not a good bundle: the program of entry " + described.name +
                 " " + why);
}

const char *Entry::checkSources(const Bundle &bundle) const {
  if (artifact.inputs.size() != described.sources.size() ||
      artifact.symbols != described.symbols.size())
    return "takes other inputs";
  for (size_t i = 0; i < artifact.inputs.size(); ++i) {
    const Source &source = described.sources[i];
    const ValueType &type = artifact.inputs[i];
    bool isScalar = source.kind >= Source::Result;
    if (isScalar != type.isScalar)
      return "takes a number for a tensor";
    if (source.kind == Source::Input) {
      const Bundle::Value &value = described.inputs[source.index];
      if (type.tensor.dtype != value.dtype ||
          type.tensor.dims.size() != value.dims.size())
        return "takes another type for an input";
    }
    if (source.kind == Source::Weight &&
        type.tensor != bundle.weights[source.index].type)
      return "takes another type for a weight";
  }
  return nullptr;
}

/// Sizes are compared by each run (EntryRun::checkSizes).
const char *Entry::checkResults(const Bundle &bundle) const {
  auto isThere = [&](const Source &value) {
    return value.kind != Source::Result ||
           value.index < artifact.results.size();
  };
  auto typeOf = [&](const Source &value) {
    return value.kind == Source::Input ? described.inputs[value.index].dtype
           : value.kind == Source::Weight
               ? bundle.weights[value.index].type.dtype
               : artifact.results[value.index].dtype;
  };
  for (size_t r = 0; r < artifact.results.size(); ++r) {
    if (!artifact.donated[r])
      continue;
    const Source &to = described.sources[*artifact.donated[r]];
    if (to.kind >= Source::Result ||
        !(to.kind == Source::Input
              ? described.inputs[to.index].role == Bundle::Value::Written
              : bundle.weights[to.index].isState))
      return "writes to what must stay";
  }
  for (size_t o = 0; o < described.results.size(); ++o) {
    const Source &value = described.results[o];
    if (!isThere(value))
      return "has too few results";
    if (typeOf(value) != described.outputs[o].dtype)
      return "gives another type for an output";
  }
  for (const Bundle::Write &write : described.writes) {
    if (!isThere(write.value))
      return "has too few results";
    if (typeOf(write.value) != typeOf(write.to))
      return "writes another type than there is";
  }
  return nullptr;
}

static std::string dimOf(const Bundle::Value &value, size_t dim) {
  if (value.role == Bundle::Value::Integer)
    return "input " + value.name;
  return "dimension " + std::to_string(dim) + " of input " + value.name;
}

Result<int64_t> Entry::sizeOf(const ltc_aot_tensor *given, size_t input,
                              size_t dim) const {
  const Bundle::Value &value = described.inputs[input];
  if (value.role == Bundle::Value::Integer) {
    if (!given[input].data || given[input].bytes < sizeof(int64_t))
      return invalid("input " + value.name + " has no memory");
    int64_t integer;
    std::memcpy(&integer, given[input].data, sizeof(integer));
    return integer;
  }
  if (given[input].sizes)
    return given[input].sizes[dim];
  if (value.dims[dim].size.isConstant())
    return value.dims[dim].size.constant();
  return invalid("entry " + described.name + " needs the sizes of input " +
                 value.name);
}

Result<std::vector<int64_t>> Entry::derive(const ltc_aot_tensor *given) const {
  std::vector<int64_t> numbers;
  for (const DerivedSize &derived : described.derived) {
    auto number = derived.evaluate([&](const DerivedSize::Step &step) {
      return sizeOf(given, step.input, step.dim);
    });
    if (!number)
      return number.takeError();
    if (!*number)
      return invalid(derived.text + " of the sizes of entry " + described.name +
                     " does not fit 64 bits");
    numbers.push_back(**number);
  }
  return numbers;
}

Status Entry::checkDerived(std::span<const int64_t> derived,
                           std::span<const int64_t> symbols) const {
  for (size_t i = 0; i < derived.size(); ++i) {
    const DerivedSize &made = described.derived[i];
    std::optional<int64_t> wanted = made.formula.evaluate(symbols);
    if (wanted != derived[i])
      return invalid("entry " + described.name + " takes sizes of which " +
                     made.text + " is " +
                     (wanted ? std::to_string(*wanted) : made.formula.str()) +
                     ", and it is " + std::to_string(derived[i]));
  }
  return {};
}

Status Entry::checkSizes(const ltc_aot_tensor *given,
                         std::span<const int64_t> symbols) const {
  for (size_t i = 0; i < described.inputs.size(); ++i)
    for (size_t d = 0; d < described.inputs[i].dims.size(); ++d) {
      const Bundle::Dim &dim = described.inputs[i].dims[d];
      std::optional<int64_t> wanted = dim.size.evaluate(symbols);
      Result<int64_t> size = sizeOf(given, i, d);
      if (!size)
        return size.takeError();
      if (!wanted || *size != *wanted)
        return invalid(dimOf(described.inputs[i], d) + " is " +
                       std::to_string(*size) + ", and entry " + described.name +
                       " takes " +
                       (wanted ? std::to_string(*wanted) : dim.size.str()));
      if (*size < dim.least || *size > dim.most)
        return invalid(
            dimOf(described.inputs[i], d) + " is " + std::to_string(*size) +
            ", and entry " + described.name + " takes " +
            std::to_string(dim.least) + " to " +
            (dim.most == INT64_MAX ? "any" : std::to_string(dim.most)));
    }
  return {};
}

Result<std::vector<int64_t>> Entry::solve(const ltc_aot_tensor *given) const {
  Result<std::vector<int64_t>> derived = derive(given);
  if (!derived)
    return derived.takeError();
  std::vector<int64_t> symbols;
  for (const Bundle::Symbol &symbol : described.symbols) {
    const bool isDerived = symbol.input == Bundle::Symbol::kDerived;
    Result<int64_t> size = isDerived ? (*derived)[symbol.dim]
                                     : sizeOf(given, symbol.input, symbol.dim);
    if (!size)
      return size.takeError();
    int64_t rest = 0;
    if (*size < 0 || __builtin_sub_overflow(*size, symbol.offset, &rest) ||
        rest < 0 || rest % symbol.factor != 0)
      return invalid((isDerived
                          ? described.derived[symbol.dim].text
                          : dimOf(described.inputs[symbol.input], symbol.dim)) +
                     " is " + std::to_string(*size) + ", which entry " +
                     described.name + " does not take");
    symbols.push_back(rest / symbol.factor);
  }
  if (Status status = checkSizes(given, symbols); !status)
    return status.takeError();
  if (Status status = checkDerived(*derived, symbols); !status)
    return status.takeError();
  return symbols;
}

Status Entry::outputSizes(const ltc_aot_tensor *given, uint32_t output,
                          int64_t *sizes) const {
  if (output >= described.outputs.size())
    return invalid("entry " + described.name + " has " +
                   std::to_string(described.outputs.size()) + " outputs");
  Result<std::vector<int64_t>> symbols = solve(given);
  if (!symbols)
    return symbols.takeError();
  for (const Bundle::Dim &dim : described.outputs[output].dims) {
    std::optional<int64_t> size = dim.size.evaluate(*symbols);
    if (!size || *size < 0)
      return invalid("the sizes of output " + described.outputs[output].name +
                     " do not fit 64 bits");
    *sizes++ = *size;
  }
  return {};
}

} // namespace ltc::aot
