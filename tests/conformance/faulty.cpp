//===- faulty.cpp - A driver with one thing wrong -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes on to the driver FAULTY_DRIVER but for what FAULTY_BY names. The
// suite that is meant to find it must (tests/python/test_conformance.py).
//
//===----------------------------------------------------------------------===//
#include "faulty.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

ltc_plugin faulty::real = {}, faulty::table = {};

using namespace faulty;

namespace {

/// Frees an error that the faulty driver does not tell.
ltc_error *swallow(ltc_error *error) {
  if (error)
    real.error_free(error);
  return nullptr;
}

/// Of buffers, where a fault keeps them.
std::map<ltc_buffer *, size_t> &sizes() {
  static std::map<ltc_buffer *, size_t> all;
  return all;
}

// table

void acceptAnyOption() {
  table.device_open = [](uint32_t ordinal, const ltc_property *options,
                         size_t count, ltc_device **device) {
    std::vector<ltc_property> known;
    for (size_t i = 0; i < count; ++i)
      if (options[i].name == std::string("memory_limit") &&
          std::isdigit(options[i].value[0]))
        known.push_back(options[i]);
    return real.device_open(ordinal, known.data(), known.size(), device);
  };
}

void openAnyOrdinal() {
  table.device_open = [](uint32_t, const ltc_property *options, size_t count,
                         ltc_device **device) {
    return real.device_open(0, options, count, device);
  };
}

void nameNoTarget() {
  table.properties = [](ltc_device *, size_t *count) -> const ltc_property * {
    static const ltc_property none = {"description", "nothing in particular"};
    *count = 1;
    return &none;
  };
}

// memory

void writeAtTheStart() {
  table.buffer_write = [](ltc_device *device, ltc_queue *queue,
                          ltc_buffer *buffer, size_t offset, ltc_bytes data) {
    ltc_error *error = real.buffer_read(device, nullptr, buffer,
                                        offset + data.size, nullptr, 0);
    return error ? error : real.buffer_write(device, queue, buffer, 0, data);
  };
}

void readAllButTheLast() {
  table.buffer_read = [](ltc_device *device, ltc_queue *queue,
                         ltc_buffer *buffer, size_t offset, void *data,
                         size_t bytes) {
    return real.buffer_read(device, queue, buffer, offset, data,
                            bytes > 1 ? bytes - 1 : bytes);
  };
}

void ignoreWritesOutside() {
  table.buffer_write = [](ltc_device *device, ltc_queue *queue,
                          ltc_buffer *buffer, size_t offset, ltc_bytes data) {
    return swallow(real.buffer_write(device, queue, buffer, offset, data));
  };
}

void ignoreZeros() {
  table.buffer_write = [](ltc_device *device, ltc_queue *queue,
                          ltc_buffer *buffer, size_t offset, ltc_bytes data) {
    return data.data ? real.buffer_write(device, queue, buffer, offset, data)
                     : nullptr;
  };
}

void forgetTheLimit() {
  table.device_open = [](uint32_t ordinal, const ltc_property *, size_t,
                         ltc_device **device) {
    return real.device_open(ordinal, nullptr, 0, device);
  };
}

void countNothingFreed() {
  table.memory = [](ltc_device *device, ltc_memory *out, int32_t reset) {
    real.memory(device, out, reset);
    out->allocated = out->max_allocated;
  };
}

void keepThePeak() {
  table.memory = [](ltc_device *device, ltc_memory *out, int32_t) {
    real.memory(device, out, 0);
  };
}

void copyWithoutOffsets() {
  table.buffer_copy = [](ltc_device *device, ltc_queue *queue, ltc_buffer *to,
                         size_t, ltc_buffer *from, size_t, size_t bytes) {
    return real.buffer_copy(device, queue, to, 0, from, 0, bytes);
  };
}

void copyBetweenWithoutOffsets() {
  table.buffer_copy_between = [](ltc_device *device, ltc_queue *queue,
                                 ltc_buffer *to, size_t, ltc_device *other,
                                 ltc_buffer *from, size_t, size_t bytes) {
    return real.buffer_copy_between(device, queue, to, 0, other, from, 0,
                                    bytes);
  };
}

void lendUnalignedMemory() {
  table.host_alloc = [](ltc_device *device, size_t bytes, void **data) {
    ltc_error *error = real.host_alloc(device, bytes + 8, data);
    if (!error)
      *data = static_cast<char *>(*data) + 8;
    return error;
  };
  table.host_free = [](ltc_device *device, void *data) {
    real.host_free(device, static_cast<char *>(data) - 8);
  };
}

/// As if offsets had 32 bits.
void cutOffsets() {
  table.buffer_write = [](ltc_device *device, ltc_queue *queue,
                          ltc_buffer *buffer, size_t offset, ltc_bytes data) {
    return real.buffer_write(device, queue, buffer, uint32_t(offset), data);
  };
  table.buffer_read = [](ltc_device *device, ltc_queue *queue,
                         ltc_buffer *buffer, size_t offset, void *data,
                         size_t bytes) {
    return real.buffer_read(device, queue, buffer, uint32_t(offset), data,
                            bytes);
  };
}

void cutSizes() {
  table.buffer_write = [](ltc_device *device, ltc_queue *queue,
                          ltc_buffer *buffer, size_t offset, ltc_bytes data) {
    return real.buffer_write(device, queue, buffer, offset,
                             {data.data, uint32_t(data.size)});
  };
}

// order

void copyAtOnce() {
  table.buffer_write = [](ltc_device *device, ltc_queue *, ltc_buffer *buffer,
                          size_t offset, ltc_bytes data) {
    return real.buffer_write(device, nullptr, buffer, offset, data);
  };
}

void reachFencesAtOnce() {
  table.fence_wait = [](ltc_device *, ltc_fence *, int64_t,
                        int32_t *reached) -> ltc_error * {
    *reached = 1;
    return nullptr;
  };
}

void skipNothing() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    if (queue)
      swallow(real.queue_resume(device, queue));
    return real.program_run(device, queue, program, launch);
  };
}

void neverResume() {
  table.queue_resume = [](ltc_device *, ltc_queue *) -> ltc_error * {
    return nullptr;
  };
}

void tellNoErrors() {
  table.fence_wait = [](ltc_device *device, ltc_fence *fence, int64_t time,
                        int32_t *reached) {
    return swallow(real.fence_wait(device, fence, time, reached));
  };
}

void tellAnErrorOnce() {
  table.fence_wait = [](ltc_device *device, ltc_fence *fence, int64_t time,
                        int32_t *reached) -> ltc_error * {
    static std::map<ltc_fence *, bool> told;
    ltc_error *error = real.fence_wait(device, fence, time, reached);
    return error && std::exchange(told[fence], true) ? swallow(error) : error;
  };
}

void forgetFencesWhenAsked() {
  table.fence_wait = [](ltc_device *device, ltc_fence *fence, int64_t time,
                        int32_t *reached) {
    ltc_error *error = real.fence_wait(device, fence, time, reached);
    if (time == 0)
      *reached = 0;
    return error;
  };
}

/// Not for a suite: while the program has FAULTY_NOW in its environment.
void refuseFencesOnDemand() {
  table.fence_record = [](ltc_device *device, ltc_queue *queue,
                          ltc_fence **fence) -> ltc_error * {
    ltc_device *none = nullptr;
    return std::getenv("FAULTY_NOW")
               ? real.device_open(UINT32_MAX, nullptr, 0, &none)
               : real.fence_record(device, queue, fence);
  };
}

void waitForNoFence() {
  table.queue_wait = [](ltc_device *, ltc_queue *, ltc_fence *) -> ltc_error * {
    return nullptr;
  };
}

// program

void runAllSteps() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    ltc_launch whole = *launch;
    whole.first_step = 0;
    whole.end_step = UINT32_MAX;
    return real.program_run(device, queue, program, &whole);
  };
}

void dropScalars() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    std::vector<ltc_operand> operands(launch->operands,
                                      launch->operands + launch->operand_count);
    for (ltc_operand &operand : operands)
      operand.bits = 0;
    ltc_launch other = *launch;
    other.operands = operands.data();
    return real.program_run(device, queue, program, &other);
  };
}

void runNothing() {
  table.program_run = [](ltc_device *, ltc_queue *, ltc_program *,
                         const ltc_launch *) -> ltc_error * { return nullptr; };
}

// faults

void knowNoSites() {
  table.error_read = [](const ltc_error *error, ltc_error_info *info) {
    real.error_read(error, info);
    info->site = -1;
  };
}

void failAlike() {
  table.error_read = [](const ltc_error *error, ltc_error_info *info) {
    real.error_read(error, info);
    info->code = LTC_DEVICE_FAILED;
  };
}

void failWithoutWords() {
  table.error_read = [](const ltc_error *error, ltc_error_info *info) {
    real.error_read(error, info);
    info->message = "";
  };
}

void runWithAnyOperands() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    return swallow(real.program_run(device, queue, program, launch));
  };
}

void breakAtAFailure() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    static ltc_launch bad = {};
    static bool isBroken = false;
    bad.struct_size = sizeof(bad);
    ltc_error *error =
        real.program_run(device, queue, program, isBroken ? &bad : launch);
    isBroken |= error != nullptr;
    return error;
  };
}

// handover

void takeCallsByTurns() {
  table.call_taken = [](ltc_device *, ltc_bytes) -> int32_t {
    static int32_t asked = 0;
    return ++asked % 2;
  };
}

void forgetTheArena() {
  table.buffer_alloc = [](ltc_device *device, size_t bytes,
                          ltc_buffer **buffer) {
    ltc_error *error = real.buffer_alloc(device, bytes, buffer);
    if (!error)
      sizes()[*buffer] = bytes;
    return error;
  };
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    if (launch->arena)
      swallow(real.buffer_write(device, queue, launch->arena, 0,
                                {nullptr, sizes()[launch->arena]}));
    return real.program_run(device, queue, program, launch);
  };
}

/// Of a device with a compiler: it says that it has compiled what is no part.
void compileAnything() {
  static const char nothing[] = "nothing";
  table.part_compile = [](ltc_device *device, ltc_bytes part, ltc_bytes *code) {
    ltc_error *error = real.part_compile(device, part, code);
    if (error)
      *code = {nothing, sizeof(nothing)};
    return swallow(error);
  };
  table.part_free = [](ltc_device *device, ltc_bytes code) {
    if (code.data != nothing)
      real.part_free(device, code);
  };
}

// training

void skipEverySeventhLaunch() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    static int launches = 0;
    return ++launches % 7 ? real.program_run(device, queue, program, launch)
                          : nullptr;
  };
}

/// Of a device that is done when a call returns.
void writeBeforeItFails() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    ltc_error *error = real.program_run(device, queue, program, launch);
    for (size_t i = 0; error && i < launch->operand_count; ++i)
      if (launch->operands[i].flags & LTC_DONATED)
        swallow(real.buffer_write(device, nullptr, launch->operands[i].buffer,
                                  0, {nullptr, 4}));
    return error;
  };
}

void roundScalars() {
  table.program_run = [](ltc_device *device, ltc_queue *queue,
                         ltc_program *program, const ltc_launch *launch) {
    std::vector<ltc_operand> operands(launch->operands,
                                      launch->operands + launch->operand_count);
    for (ltc_operand &operand : operands)
      if (!operand.buffer)
        operand.bits &= ~((uint64_t(1) << 50) - 1);
    ltc_launch other = *launch;
    other.operands = operands.data();
    return real.program_run(device, queue, program, &other);
  };
}

struct Fault {
  const char *name;
  void (*install)();
};
constexpr Fault faults[] = {
    {"accept_any_option", acceptAnyOption},
    {"open_any_ordinal", openAnyOrdinal},
    {"name_no_target", nameNoTarget},
    {"write_at_the_start", writeAtTheStart},
    {"read_all_but_the_last", readAllButTheLast},
    {"ignore_writes_outside", ignoreWritesOutside},
    {"ignore_zeros", ignoreZeros},
    {"forget_the_limit", forgetTheLimit},
    {"count_nothing_freed", countNothingFreed},
    {"keep_the_peak", keepThePeak},
    {"copy_without_offsets", copyWithoutOffsets},
    {"lend_unaligned_memory", lendUnalignedMemory},
    {"cut_offsets", cutOffsets},
    {"cut_sizes", cutSizes},
    {"keep_old_spans", keepOldSpans},
    {"tell_another_clock", tellAnotherClock},
    {"tell_spans_of_one_lane", tellSpansOfOneLane},
    {"copy_at_once", copyAtOnce},
    {"reach_fences_at_once", reachFencesAtOnce},
    {"skip_nothing", skipNothing},
    {"never_resume", neverResume},
    {"tell_no_errors", tellNoErrors},
    {"tell_an_error_once", tellAnErrorOnce},
    {"forget_fences_when_asked", forgetFencesWhenAsked},
    {"wait_for_no_fence", waitForNoFence},
    {"refuse_fences_on_demand", refuseFencesOnDemand},
    {"run_all_steps", runAllSteps},
    {"drop_scalars", dropScalars},
    {"run_nothing", runNothing},
    {"know_no_sites", knowNoSites},
    {"fail_alike", failAlike},
    {"fail_without_words", failWithoutWords},
    {"run_with_any_operands", runWithAnyOperands},
    {"break_at_a_failure", breakAtAFailure},
    {"copy_between_without_offsets", copyBetweenWithoutOffsets},
    {"take_calls_by_turns", takeCallsByTurns},
    {"forget_the_arena", forgetTheArena},
    {"compile_anything", compileAnything},
    {"skip_every_seventh_launch", skipEverySeventhLaunch},
    {"write_before_it_fails", writeBeforeItFails},
    {"round_scalars", roundScalars},
    {"none", [] {}},
};

} // namespace

const ltc_plugin *ltc_plugin_query(uint32_t abiMajor, const ltc_host *host) {
  const char *path = std::getenv("FAULTY_DRIVER");
  const char *name = std::getenv("FAULTY_BY");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  auto query = library ? reinterpret_cast<decltype(&ltc_plugin_query)>(
                             dlsym(library, "ltc_plugin_query"))
                       : nullptr;
  const ltc_plugin *found = query ? query(abiMajor, host) : nullptr;
  auto fault = std::ranges::find_if(faults, [&](const Fault &one) {
    return name && std::string(one.name) == name;
  });
  if (!found || fault == std::end(faults))
    return nullptr;
  std::memcpy(&real, found, std::min(found->struct_size, sizeof(real)));
  table = real;
  fault->install();
  return &table;
}
