//===- steps.cpp - A program's steps, with their numbers ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/steps.h"

#include <algorithm>

namespace ltc {

namespace {

Error invalid(std::string message) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          std::move(message),
          "",
          {},
          ""};
}

void replace(std::string &text, std::string_view name, int64_t value) {
  if (size_t at = text.find(name); at != text.npos)
    text.replace(at, name.size(), std::to_string(value));
}

} // namespace

Result<Steps> Steps::take(Artifact &artifact) {
  if (artifact.donated.size() != artifact.results.size())
    return invalid("the artifact's donations do not match its results");
  Steps steps;
  steps.inputCount = artifact.inputs.size();
  steps.types = std::move(artifact.inputs);
  for (TensorType &type : artifact.results)
    steps.types.push_back({std::move(type), false});
  for (Artifact::ErrorSite &site : artifact.errorSites)
    steps.siteWords.push_back(std::move(site.words));
  steps.symbolsGiven = artifact.symbols;
  steps.formulas = std::move(artifact.formulas);
  steps.arena = std::move(artifact.arena);
  steps.all = std::move(artifact.steps);
  steps.words = std::move(artifact.words);
  steps.extents = std::move(artifact.extents);
  if (!steps.symbolsGiven && !steps.evaluate({}))
    return invalid("a size of the program does not fit 64 bits");
  return steps;
}

bool Steps::evaluate(std::span<const int64_t> values) {
  constexpr int64_t impossible = INT64_MIN;
  sizes.clear();
  for (const Formula &formula : formulas)
    sizes.push_back(formula.evaluate(values).value_or(impossible));
  bool ok = true;
  auto valueOf = [&](int64_t number) {
    if (!isSymbolic(number))
      return number;
    int64_t value = sizes[formulaNumber(number)];
    ok &= value != impossible;
    return value;
  };
  parts.clear();
  arenaBytes = 0;
  for (int64_t part : arena) {
    int64_t bytes = valueOf(part);
    parts.push_back(arenaBytes);
    ok &= bytes >= 0 &&
          !__builtin_add_overflow(arenaBytes, bytes, &arenaBytes) &&
          !__builtin_add_overflow(arenaBytes, LTC_ARENA_ALIGNMENT - 1,
                                  &arenaBytes);
    arenaBytes -= arenaBytes % LTC_ARENA_ALIGNMENT;
  }
  grids.clear();
  for (const ltc_step &step : all) {
    int64_t product = 1;
    for (uint32_t i = 0; i < step.extents; ++i) {
      const ltc_extent &extent = extents[step.first_extent + i];
      int64_t length = valueOf(extent.length);
      int64_t count = length / extent.step + (length % extent.step != 0);
      ok &= length >= 0 && !__builtin_mul_overflow(product, count, &product);
    }
    grids.push_back(product);
  }
  // Bases are: nothing, operands, parts of the arena, the symbols.
  auto baseOf = [&](const ltc_word &word) -> size_t {
    switch (word.base) {
    case LTC_INPUT:
      return 1 + word.index;
    case LTC_RESULT:
      return 1 + inputCount + word.index;
    case LTC_ARENA:
      return 1 + types.size() + word.index;
    case LTC_SYMBOLS:
      return 1 + types.size() + parts.size();
    default:
      return 0;
    }
  };
  places.clear();
  for (const ltc_word &word : words)
    places.push_back({uint32_t(baseOf(word)), valueOf(word.amount)});
  return ok;
}

Status Steps::choose(std::span<const int64_t> values) {
  if (values.size() != symbolsGiven)
    return invalid("the program has " + std::to_string(symbolsGiven) +
                   " symbols, and got the values of " +
                   std::to_string(values.size()));
  if (std::ranges::equal(values, symbols))
    return {};
  symbols.clear(); // until all is known to fit
  if (!evaluate(values))
    return invalid("the symbols' values give an impossible size");
  symbols.assign(values.begin(), values.end());
  return {};
}

Status Steps::check(std::span<const ltc_operand> operands,
                    std::span<const OperandMemory> memory,
                    OperandMemory scratch) const {
  auto wrong = [](size_t number, std::string_view why) {
    return invalid("operand " + std::to_string(number) + " " +
                   std::string(why));
  };
  if (operands.size() != types.size())
    return invalid("the program takes " + std::to_string(types.size()) +
                   " operands, and got " + std::to_string(operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) {
    const ValueType &type = types[i];
    if (type.isScalar)
      continue;
    if (!memory[i].data)
      return wrong(i, "has no buffer");
    if (operands[i].rank != type.tensor.dims.size() ||
        operands[i].dtype != uint8_t(type.tensor.dtype))
      return wrong(i, "has another rank or element type than the program's");
    size_t bytes = byteSize(type.tensor.dtype);
    for (uint32_t d = 0; d < operands[i].rank; ++d) {
      int64_t dim = type.tensor.dims[d];
      if (operands[i].sizes[d] !=
          (isSymbolic(dim) ? sizes[formulaNumber(dim)] : dim))
        return wrong(i, "has another shape than the program's");
      bytes *= size_t(operands[i].sizes[d]);
    }
    if (bytes > memory[i].bytes)
      return wrong(i, "has a buffer that is too small");
  }
  if (scratch.bytes < size_t(arenaBytes))
    return invalid("the arena is too small");
  return {};
}

void Steps::place(std::span<const ltc_operand> operands,
                  std::span<const OperandMemory> memory, OperandMemory scratch,
                  const void *symbolsAt) {
  bases.clear();
  bases.push_back(0);
  for (size_t i = 0; i < operands.size(); ++i)
    bases.push_back(types[i].isScalar
                        ? int64_t(operands[i].bits)
                        : reinterpret_cast<int64_t>(memory[i].data));
  for (int64_t part : parts)
    bases.push_back(reinterpret_cast<int64_t>(scratch.data) + part);
  bases.push_back(reinterpret_cast<int64_t>(symbolsAt));
}

std::span<int64_t> Steps::arguments(size_t number) {
  const ltc_step &step = all[number];
  given.resize(std::max<size_t>(given.size(), step.words));
  const Place *from = places.data() + step.first_word;
  for (uint32_t i = 0; i < step.words; ++i)
    given[i] = bases[from[i].base] + from[i].amount;
  return {given.data(), step.words};
}

bool Steps::readSymbols() const {
  return std::ranges::any_of(
      words, [](const ltc_word &word) { return word.base == LTC_SYMBOLS; });
}

std::string Steps::wordsOf(int64_t site, std::string_view otherwise) const {
  bool isKnown =
      site >= 0 && site < sites() && !siteWords[size_t(site)].empty();
  return isKnown ? siteWords[size_t(site)] : std::string(otherwise);
}

std::string Steps::indexError(int64_t site, int64_t index, int64_t size) const {
  std::string text = wordsOf(
      site, "index out of range: {index} is out of bounds for a dimension of "
            "size {size}");
  replace(text, "{index}", index);
  replace(text, "{size}", size);
  return text;
}

std::string Steps::valueError(int64_t site) const {
  return wordsOf(site, "a value is not what the op takes");
}

} // namespace ltc
