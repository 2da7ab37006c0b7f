//===- entry_run.cpp - One run of an entry ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "aot/entry.h"

#include "aot/aot_errors.h"
#include "device/host.h"
#include "error_place.h"

#include "ltc/region_ops.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <span>

namespace ltc::aot {

using Source = Bundle::Source;

/// What each of a run's tensors is, and where.
class EntryRun {
public:
  EntryRun(Entry &entry, Shared &shared, const ltc_aot_tensor *inputs,
           const ltc_aot_tensor *outputs)
      : entry(entry), described(entry.described), shared(shared),
        inputs(inputs), outputs(outputs) {}

  Status run();

private:
  struct Tensor {
    std::vector<int64_t> sizes;
    size_t bytes = 0;
    void *data = nullptr;
  };
  Result<Tensor> tensorOf(const Bundle::Value &value) const;
  Status takeInputs();
  Status takeOutputs();
  Status addOperands();
  Status addResults();
  Status checkSizes();
  Status keepOldValues();
  Status launch();
  Result<ltc_operand> operandOf(const Source &source, const ValueType &type);
  void add(ltc_operand operand, OperandMemory place);
  const void *dataOf(const Source &source) const;
  void *placeOf(const Source &source) const;
  size_t bytesOf(const Source &source) const;
  const std::vector<int64_t> &sizesOf(const Source &source) const;
  void copyOutputs(bool ofResults);
  void writeBack();

  Entry &entry;
  const Bundle::Entry &described;
  Shared &shared;
  const ltc_aot_tensor *const inputs, *const outputs;
  std::vector<int64_t> symbols;
  std::vector<Tensor> given, wanted; ///< by input, by output
  std::vector<Tensor> results;       ///< of the program
  std::vector<const void *> values;  ///< by write: the new one
  std::vector<ltc_operand> operands;
  std::vector<OperandMemory> memory;
  std::deque<cpu::GrownMemory> temporaries;
};

Result<EntryRun::Tensor> EntryRun::tensorOf(const Bundle::Value &value) const {
  Tensor tensor;
  tensor.bytes = byteSize(value.dtype);
  for (const Bundle::Dim &dim : std::span(value.dims).first(value.rank())) {
    std::optional<int64_t> size = dim.size.evaluate(symbols);
    if (!size || *size < 0 ||
        __builtin_mul_overflow(tensor.bytes, size_t(*size), &tensor.bytes))
      return invalid("the sizes of " + value.name + " are impossible");
    tensor.sizes.push_back(*size);
  }
  return tensor;
}

static Status checkMemory(const ltc_aot_tensor &tensor, size_t bytes,
                          const std::string &what) {
  if (bytes && !tensor.data)
    return invalid(what + " has no memory");
  if (tensor.bytes < bytes)
    return invalid(what + " has " + std::to_string(tensor.bytes) +
                   " bytes, and " + std::to_string(bytes) + " are needed");
  return {};
}

Status EntryRun::takeInputs() {
  for (size_t i = 0; i < described.inputs.size(); ++i) {
    Result<Tensor> tensor = tensorOf(described.inputs[i]);
    if (!tensor)
      return tensor.takeError();
    if (Status status = checkMemory(inputs[i], tensor->bytes,
                                    "input " + described.inputs[i].name);
        !status)
      return status;
    tensor->data = inputs[i].data;
    given.push_back(std::move(*tensor));
  }
  return {};
}

Status EntryRun::takeOutputs() {
  for (size_t i = 0; i < described.outputs.size(); ++i) {
    Result<Tensor> tensor = tensorOf(described.outputs[i]);
    if (!tensor)
      return tensor.takeError();
    if (Status status = checkMemory(outputs[i], tensor->bytes,
                                    "output " + described.outputs[i].name);
        !status)
      return status;
    tensor->data = outputs[i].data;
    wanted.push_back(std::move(*tensor));
  }
  return {};
}

void EntryRun::add(ltc_operand operand, OperandMemory place) {
  static char nothing[64]; // of tensors without elements
  if (!place.data && !place.bytes)
    place.data = nothing;
  operands.push_back(operand);
  memory.push_back(place);
}

Result<ltc_operand> EntryRun::operandOf(const Source &source,
                                        const ValueType &type) {
  ltc_operand operand = {};
  operand.dtype = uint8_t(type.tensor.dtype);
  operand.rank = uint32_t(type.tensor.dims.size());
  switch (source.kind) {
  case Source::Input:
    operand.sizes = given[source.index].sizes.data();
    break;
  case Source::Weight:
    operand.sizes = shared.bundle.weights[source.index].type.dims.data();
    break;
  case Source::Number: {
    std::optional<int64_t> value = source.formula.evaluate(symbols);
    if (!value)
      return invalid(source.formula.str() + " of the sizes of entry " +
                     described.name + " does not fit 64 bits");
    operand.bits = source.isDouble ? std::bit_cast<uint64_t>(double(*value))
                                   : uint64_t(*value);
    break;
  }
  case Source::Seed:
    operand.bits = nextSeed(shared.seed);
    break;
  case Source::Result:
  case Source::Real:
    operand.bits = source.bits;
  }
  return operand;
}

Status EntryRun::addOperands() {
  for (size_t i = 0; i < described.sources.size(); ++i) {
    const Source &source = described.sources[i];
    Result<ltc_operand> operand = operandOf(source, entry.artifact.inputs[i]);
    if (!operand)
      return operand.takeError();
    if (source.kind <= Source::Weight)
      add(*operand, {placeOf(source), bytesOf(source)});
    else
      add(*operand, {});
  }
  return {};
}

/// Each result lies where it is wanted: in the memory of the input that it
/// replaces, in that of an output, or in some for this run.
Status EntryRun::addResults() {
  const Artifact &artifact = entry.artifact;
  results.resize(artifact.results.size());
  for (size_t o = 0; o < wanted.size(); ++o)
    if (const Source &source = described.results[o];
        source.kind == Source::Result && !results[source.index].data)
      results[source.index].data = wanted[o].data;
  for (uint32_t r = 0; r < results.size(); ++r) {
    Tensor &result = results[r];
    result.bytes = byteSize(artifact.results[r].dtype);
    for (int64_t dim : artifact.results[r].dims) {
      int64_t size = isSymbolic(dim) ? artifact.formulas[formulaNumber(dim)]
                                           .evaluate(symbols)
                                           .value_or(-1)
                                     : dim;
      if (size < 0 ||
          __builtin_mul_overflow(result.bytes, size_t(size), &result.bytes))
        return invalid("the sizes of a result are impossible");
      result.sizes.push_back(size);
    }
    if (artifact.donated[r]) {
      result.data = memory[*artifact.donated[r]].data;
    } else if (!result.data) {
      result.data = temporaries.emplace_back().atLeast(result.bytes);
      if (!result.data)
        return failed(ErrorCode::OutOfMemory, "no memory for a result");
    }
  }
  for (uint32_t r = 0; r < results.size(); ++r) {
    ltc_operand operand = {};
    operand.dtype = uint8_t(artifact.results[r].dtype);
    operand.rank = uint32_t(results[r].sizes.size());
    operand.sizes = results[r].sizes.data();
    size_t bytes = artifact.donated[r] ? memory[*artifact.donated[r]].bytes
                                       : results[r].bytes;
    add(operand, {results[r].data, bytes});
  }
  return {};
}

/// All that is copied, and results in the memory of outputs, fits.
Status EntryRun::checkSizes() {
  for (size_t o = 0; o < wanted.size(); ++o)
    if (sizesOf(described.results[o]) != wanted[o].sizes)
      return invalid("not a good bundle: output " + described.outputs[o].name +
                     " has other sizes than its program gives");
  for (const Bundle::Write &write : described.writes)
    if (sizesOf(write.value) != sizesOf(write.to))
      return invalid("not a good bundle: entry " + described.name +
                     " writes a value of other sizes than there are");
  return {};
}

/// The launch and earlier writes may replace what a write is to read.
Status EntryRun::keepOldValues() {
  for (const Bundle::Write &write : described.writes) {
    const void *&value = values.emplace_back(dataOf(write.value));
    bool isReplaced =
        std::ranges::any_of(described.writes, [&](const Bundle::Write &other) {
          return other.to.kind == write.value.kind &&
                 other.to.index == write.value.index;
        });
    size_t bytes = bytesOf(write.value);
    if (!isReplaced || !bytes)
      continue;
    void *copy = temporaries.emplace_back().atLeast(bytes);
    if (!copy)
      return failed(ErrorCode::OutOfMemory, "no memory for a value");
    value = std::memcpy(copy, value, bytes);
  }
  return {};
}

const void *EntryRun::dataOf(const Source &source) const {
  return source.kind == Source::Result ? results[source.index].data
                                       : placeOf(source);
}

void *EntryRun::placeOf(const Source &source) const {
  return source.kind == Source::Input ? given[source.index].data
                                      : shared.weights[source.index];
}

size_t EntryRun::bytesOf(const Source &source) const {
  return source.kind == Source::Result ? results[source.index].bytes
         : source.kind == Source::Input
             ? given[source.index].bytes
             : shared.bundle.weights[source.index].place.bytes;
}

const std::vector<int64_t> &EntryRun::sizesOf(const Source &source) const {
  return source.kind == Source::Result ? results[source.index].sizes
         : source.kind == Source::Input
             ? given[source.index].sizes
             : shared.bundle.weights[source.index].type.dims;
}

/// Those that are not there yet; what an input was, before it is written to.
void EntryRun::copyOutputs(bool ofResults) {
  for (size_t o = 0; o < wanted.size(); ++o) {
    const Source &source = described.results[o];
    if ((source.kind == Source::Result) != ofResults || !wanted[o].bytes)
      continue;
    if (const void *from = dataOf(source); from != wanted[o].data)
      std::memcpy(wanted[o].data, from, wanted[o].bytes);
  }
}

void EntryRun::writeBack() {
  for (size_t w = 0; w < values.size(); ++w) {
    const Source &place = described.writes[w].to;
    size_t bytes = bytesOf(place);
    if (void *to = placeOf(place); bytes && values[w] != to)
      std::memmove(to, values[w], bytes);
  }
}

Status EntryRun::launch() {
  if (Status status = entry.program->choose(symbols); !status)
    return status;
  std::optional<int64_t> bytes = entry.artifact.arenaBytes(symbols);
  if (!bytes)
    return invalid("the sizes give an impossible amount of memory");
  OperandMemory arena = {shared.arena.atLeast(size_t(*bytes)), size_t(*bytes)};
  if (!arena.data)
    return failed(ErrorCode::OutOfMemory, "no memory for " +
                                              std::to_string(*bytes) +
                                              " bytes of values in between");
  if (Status status = entry.program->check(operands, memory, arena); !status)
    return status;
  cpu::Run run(runtime::hostTable(), entry.program->calls,
               entry.program->steps);
  entry.program->run(run, operands, memory, arena);
  if (run.code == LTC_OK)
    return {};
  return failed(ErrorCode(run.code - 1),
                runtime::errorPlace(entry.artifact, run.site).prefix() +
                    run.message);
}

Status EntryRun::run() {
  Result<std::vector<int64_t>> solved = entry.solve(inputs);
  if (!solved)
    return solved.takeError();
  symbols = std::move(*solved);
  for (auto step :
       {&EntryRun::takeInputs, &EntryRun::takeOutputs, &EntryRun::addOperands,
        &EntryRun::addResults, &EntryRun::checkSizes, &EntryRun::keepOldValues})
    if (Status status = (this->*step)(); !status)
      return status;
  copyOutputs(/*ofResults=*/false);
  if (Status status = launch(); !status)
    return status;
  copyOutputs(/*ofResults=*/true);
  writeBack();
  return {};
}

Status Entry::run(Shared &shared, const ltc_aot_tensor *inputs,
                  const ltc_aot_tensor *outputs) {
  return EntryRun(*this, shared, inputs, outputs).run();
}

} // namespace ltc::aot
