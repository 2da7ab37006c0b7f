//===- pjrt_program.cpp - Programs of parts that PJRT runs ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_program.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ltc::pjrt {

namespace {

/// By ltc::DType.
constexpr size_t kWidths[] = {1, 1, 1,  2, 4, 8, 2, 2, 4,
                              8, 8, 16, 2, 4, 8, 1, 1, 4};

Fault invalid(std::string message) {
  return {LTC_INVALID_ARGUMENT, std::move(message)};
}

} // namespace

Outcome Program::load(Place &place, ltc_bytes artifact) {
  bytes.resize(artifact.size / 8 + 1);
  std::memcpy(bytes.data(), artifact.data, artifact.size);
  if (const char *wrong = ltc_program_open(&view, bytes.data(), artifact.size))
    return invalid(std::string("no program: ") + wrong);
  std::string_view target(ltc_text_begin(&view, view.info->target),
                          view.info->target.size);
  if (!target.starts_with("stablehlo:"))
    return Fault{LTC_UNSUPPORTED,
                 "PJRT runs programs of StableHLO, and this one is for " +
                     std::string(target)};
  for (uint32_t i = 0; i < view.kernel_count; ++i) {
    ltc_text code = view.blobs[view.kernels[i].blob].bytes;
    std::string_view module(ltc_text_begin(&view, code), code.size);
    ExecutablePtr made;
    if (Outcome outcome = place.code.load(module, made))
      return Fault{LTC_DEVICE_FAILED, outcome->message};
    kernels.push_back({module, made});
  }
  return std::nullopt;
}

bool Program::isRight(uint32_t number, const ltc_launch &launch) const {
  const ltc_value_type &type = view.types[number];
  const ltc_operand &given = launch.operands[number];
  if (type.is_scalar)
    return true;
  if (!given.buffer || given.rank != type.rank || given.dtype != type.dtype ||
      type.dtype >= std::size(kWidths))
    return false;
  size_t needed = kWidths[type.dtype];
  for (uint32_t d = 0; d < type.rank; ++d) {
    int64_t size = 0;
    if (!ltc_evaluate(&view, view.dims[type.first_dim + d], launch.symbols,
                      &size) ||
        size != given.sizes[d])
      return false;
    needed *= size_t(size);
  }
  return given.buffer->has(0, needed);
}

Outcome Program::check(const ltc_launch &launch) const {
  int64_t arena = 0;
  if (launch.operand_count != view.type_count ||
      launch.symbol_count != view.info->symbols ||
      !ltc_arena_offset(&view, view.arena_count, launch.symbols, &arena) ||
      (launch.arena ? launch.arena->bytes() : 0) < size_t(arena))
    return invalid("other operands than the program's");
  for (uint32_t i = 0; i < view.type_count; ++i)
    if (!isRight(i, launch))
      return invalid("operand " + std::to_string(i) + " is not the program's");
  return std::nullopt;
}

Run::Run(const Program &program, const ltc_launch &launch)
    : program(program),
      operands(launch.operands, launch.operands + launch.operand_count),
      symbols(launch.symbols, launch.symbols + launch.symbol_count),
      arena(launch.arena), firstStep(launch.first_step),
      endStep(std::min(launch.end_step, program.tables().step_count)) {}

int64_t Run::amount(const ltc_word &word) const {
  int64_t value = 0;
  ltc_evaluate(&program.tables(), word.amount, symbols.data(), &value);
  return value;
}

bool Run::isScalar(const ltc_word &word) const {
  return word.base == LTC_NUMBER ||
         (word.base == LTC_INPUT &&
          program.tables().types[word.index].is_scalar);
}

Run::Spot Run::spot(const ltc_word &word) const {
  const ltc_program_view &view = program.tables();
  int64_t offset = 0;
  switch (word.base) {
  case LTC_INPUT:
    return {operands[word.index].buffer, size_t(amount(word))};
  case LTC_RESULT:
    return {operands[view.info->inputs + word.index].buffer,
            size_t(amount(word))};
  case LTC_ARENA:
    ltc_arena_offset(&view, word.index, symbols.data(), &offset);
    return {arena, size_t(offset + amount(word))};
  default:
    return {};
  }
}

Outcome Run::find(const ltc_word &word, const TensorType &type,
                  Spot &found) const {
  found = spot(word);
  if (found.buffer && found.buffer->has(found.offset, type.bytes()))
    return std::nullopt;
  return invalid("a tensor of a part is outside of its buffer");
}

Outcome Run::scalar(Place &place, const ltc_word &word, const TensorType &type,
                    ArrayPtr &array) const {
  uint64_t bits = word.base == LTC_NUMBER ? uint64_t(amount(word))
                                          : operands[word.index].bits;
  constexpr int32_t f32 = 11;
  if (type.element == f32)
    bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
  if (!type.sizes.empty() || type.bytes() > sizeof(bits))
    return invalid("a part has a number where the program has a tensor");
  return place.device.client->upload(place.device.index, type, &bits, array);
}

Outcome Run::launch(Place &place, const ltc_step &step) const {
  const ltc_program_view &view = program.tables();
  ExecutablePtr code;
  if (Outcome outcome = place.code.load(program.code(step.target), code))
    return outcome;
  const Signature &signature = code->signature();
  const ltc_word *word = view.words + step.first_word;
  const ltc_word *end = word + step.words;
  auto next = [&](const TensorType &type, bool isNumber) {
    word += isNumber ? 1 : 1 + 2 * type.sizes.size();
  };
  std::vector<ArrayPtr> inputs, results;
  std::vector<Spot> spots;
  std::unique_lock lock(place.memory);
  for (const TensorType &type : signature.inputs) {
    if (word >= end)
      return invalid("a part has more inputs than its step has words");
    ArrayPtr &array = inputs.emplace_back();
    bool isNumber = isScalar(*word);
    Spot from;
    if (Outcome outcome = isNumber ? scalar(place, *word, type, array)
                                   : find(*word, type, from))
      return outcome;
    if (!isNumber)
      if (Outcome outcome = from.buffer->take(from.offset, type, array))
        return outcome;
    next(type, isNumber);
  }
  for (const TensorType &type : signature.results) {
    if (word >= end)
      return invalid("a part has more results than its step has words");
    if (Outcome outcome = find(*word, type, spots.emplace_back()))
      return outcome;
    next(type, /*isNumber=*/false);
  }
  lock.unlock();
  if (Outcome outcome = code->run(inputs, results))
    return outcome;
  lock.lock();
  for (size_t i = 0; i < results.size(); ++i)
    spots[i].buffer->put(spots[i].offset, results[i]);
  return std::nullopt;
}

Outcome Run::copy(Place &place, const ltc_step &step) const {
  const ltc_word *word = program.tables().words + step.first_word;
  size_t bytes = size_t(amount(word[2]));
  Spot to = spot(word[0]), from = spot(word[1]);
  if (!to.buffer || !from.buffer || !to.buffer->has(to.offset, bytes) ||
      !from.buffer->has(from.offset, bytes))
    return invalid("a copy is outside of its buffers");
  std::lock_guard lock(place.memory);
  return to.buffer->copy(to.offset, *from.buffer, from.offset, bytes);
}

Outcome Run::operator()(Place &place) const {
  for (uint32_t s = firstStep; s < endStep; ++s) {
    const ltc_step &step = program.tables().steps[s];
    if (step.kind == LTC_CALL)
      return Fault{LTC_UNSUPPORTED,
                   "step " + std::to_string(s) + " is a call of the host's"};
    Outcome outcome =
        step.kind == LTC_COPY ? copy(place, step) : launch(place, step);
    // Its results are put down last, so that nothing is lost with it.
    if (outcome && step.kind == LTC_LAUNCH)
      outcome->site = step.target;
    if (outcome)
      return outcome;
  }
  return std::nullopt;
}

} // namespace ltc::pjrt
