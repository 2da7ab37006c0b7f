//===- launch.cpp - One run of a program, in the queue ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/launch.h"

#include "engine/resident.h"

#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/profile.h"
#include "ltc/trace.h"

#include <algorithm>
#include <cstdio>

namespace ltc::runtime {

Result<ltc_buffer *> Arena::reserve(Device &device, size_t bytes) {
  if (bytes <= size)
    return bytes ? memory.get() : nullptr;
  release(); // first, so that old and new never stand side by side
  Result<Memory> grown = device.allocate(bytes);
  if (!grown)
    return grown.takeError();
  memory = std::move(*grown);
  size = bytes;
  return memory.get();
}

void Arena::discard() {
  if (void *data = memory.hostPointer())
    discardContents(data, size);
}

void FailureLog::add(FailurePtr failure) {
  std::lock_guard lock(mutex);
  std::erase_if(failures,
                [](const FailurePtr &old) { return old->seen.load(); });
  failures.push_back(std::move(failure));
}

FailurePtr FailureLog::takeFirstUnseen() {
  std::vector<FailurePtr> taken;
  {
    std::lock_guard lock(mutex);
    taken.swap(failures);
  }
  FailurePtr first;
  for (FailurePtr &failure : taken) {
    if (failure->seen.exchange(true))
      continue;
    if (first)
      log(LogLevel::Warn, Stage::Execute,
          "a later launch failed too: " + failure->error.message);
    else
      first = std::move(failure);
  }
  return first;
}

Launch::Launch(LaunchState &state, std::shared_ptr<BoundProgram> bound,
               std::vector<ScalarOrBuffer> arguments,
               std::vector<DeviceBufferPtr> results,
               std::shared_ptr<Completion> completion,
               std::shared_ptr<const void> kept,
               WaitHabit::Duration sinceLaunch)
    : state(state), bound(std::move(bound)), arguments(std::move(arguments)),
      results(std::move(results)), completion(std::move(completion)),
      kept(std::move(kept)), sinceLaunch(sinceLaunch),
      isTold(std::ranges::any_of(
          this->arguments, [](const ScalarOrBuffer &argument) {
            return argument.buffer && argument.buffer->isUndone();
          })) {
  if (profile::isOn()) [[unlikely]]
    profiled = profile::submitRun();
}

Pool Launch::pool() const {
  unsigned threads = hostThreads();
  if (threads == 1)
    return Pool::None;
  bool waits = state.team.team && state.team.threads == threads;
  return waits ? Pool::Waiting : Pool::Asleep;
}

FailurePtr Launch::failedInput() const {
  // The queue runs in order: whoever writes an input has finished.
  for (const ScalarOrBuffer &argument : arguments)
    if (argument.buffer && argument.buffer->completion->failed())
      return argument.buffer->completion->failed();
  return nullptr;
}

FailurePtr Launch::fail(Error error) {
  static Counter &errors = counter("execute.errors");
  errors.add();
  auto failure = std::make_shared<Failure>(std::move(error));
  state.failures.add(failure);
  return failure;
}

void Launch::undo() {
  static Counter &undone = counter("execute.undone");
  undone.add();
  for (size_t i = 0; i < results.size(); ++i) {
    if (auto donated = bound->artifact().donated[i]; donated && !spoilt) {
      DeviceBuffer &argument = *arguments[*donated].buffer;
      // Before it ran the argument has it still.
      if (results[i]->memory)
        argument.memory = std::move(results[i]->memory);
      argument.consumed = false;
    }
    results[i]->memory = Memory();
  }
}

void Launch::measureLoop() {
  if (!logs(LogLevel::Info, Stage::Execute))
    return;
  std::optional<LoopPace> pace = state.loop.begin(
      bound->loop, LoopMeter::Clock::now(), state.builds.load());
  if (!pace)
    return;
  char text[160];
  std::snprintf(text, sizeof(text),
                "%s-bound: the device idles %.0f %% of a step of %.3g ms, in a "
                "loop that launches a graph of %zu ops",
                pace->isHostBound() ? "host" : "device", 100 * pace->idleShare,
                std::chrono::duration<double, std::milli>(pace->step).count(),
                bound->ops());
  std::string place = bound->endedAt().str();
  log(LogLevel::Info, Stage::Execute,
      text + (place.empty() ? "" : " for " + place));
}

void Launch::run(bool borrows) {
  static Counter &kernels = counter("execute.kernels");
  measureLoop();
  profile::Timed timed(profile::Part::Execute);
  if (profiled) [[unlikely]]
    profile::beginRun(profiled);
  FailurePtr failure = failedInput();
  if (!failure) {
    Span span(Stage::Execute);
    if (Status status = execute(borrows); status)
      kernels.add(bound->launches);
    else
      failure = fail(status.takeError());
  } else if (isTold) {
    // What the program computes from a value that it knows to be missing is
    // another error.
    failure = fail(failure->error);
  }
  if (failure) {
    undo();
    completion->keep(std::move(kept));
  }
  // Inputs go first: whoever wakes finds their memory free.
  arguments.clear();
  results.clear();
  kept.reset();
  bound.reset();
  --state.inFlight;
  if (profiled) [[unlikely]]
    profile::endRun(profiled);
  state.loop.end(LoopMeter::Clock::now());
  completion->finish(std::move(failure));
}

void LaunchState::rest() {
  if (hostServices().rest)
    hostServices().rest();
  team = {};
}

Status Launch::allocateResults() {
  const Artifact &artifact = bound->artifact();
  for (size_t i = 0; i < results.size(); ++i) {
    if (artifact.donated[i]) {
      results[i]->memory =
          std::move(arguments[*artifact.donated[i]].buffer->memory);
      continue;
    }
    Result<Memory> memory =
        bound->program->home()->allocate(bound->results[i].bytes());
    if (!memory)
      return memory.takeError();
    results[i]->memory = std::move(*memory);
  }
  return {};
}

Status Launch::execute(bool borrows) {
  Device &device = *bound->program->home();
  const Artifact &artifact = bound->artifact();
  if (Status status = allocateResults(); !status)
    return status;
  Result<ltc_buffer *> arena = state.arena.reserve(device, bound->arenaBytes);
  if (!arena)
    return arena.takeError();

  std::vector<ltc_operand> operands;
  operands.reserve(arguments.size() + results.size());
  auto add = [&](ltc_buffer *buffer, const TensorType &type, uint64_t bits) {
    operands.push_back({buffer, type.dims.data(), uint32_t(type.dims.size()),
                        uint8_t(type.dtype), bits});
  };
  for (size_t i = 0; i < arguments.size(); ++i)
    if (DeviceBuffer *buffer = arguments[i].buffer.get())
      add(buffer->memory.get(), buffer->type(), 0);
    else
      add(nullptr, bound->inputs[i].tensor, arguments[i].bits);
  for (size_t i = 0; i < results.size(); ++i) {
    ltc_buffer *buffer = results[i]->memory.get();
    if (artifact.donated[i])
      operands[*artifact.donated[i]].buffer = buffer;
    add(buffer, results[i]->type(), 0);
  }
  int64_t site = -1;
  Status status = borrows ? runBorrowing(operands, *arena, site)
                          : runMeasured(operands, *arena, site);
  return status ? Status() : atSite(status.takeError(), site);
}

Status Launch::runBorrowing(const std::vector<ltc_operand> &operands,
                            ltc_buffer *arena, int64_t &site) {
  static Counter &borrowed = counter("execute.borrowed");
  borrowed.add();
  const Program &program = *bound->program;
  auto borrow = hostServices().borrowThread;
  bool splits = bound->threads.splits(launcher, pool());
  if (borrow)
    borrow(true, splits ? state.team : WaitingTeam());
  Status status =
      program.home()->run(program.get(), operands, bound->symbols, arena, site);
  if (borrow)
    borrow(false, {});
  return status;
}

Status Launch::runMeasured(const std::vector<ltc_operand> &operands,
                           ltc_buffer *arena, int64_t &site) {
  const Program &program = *bound->program;
  Device &device = *program.home();
  ThreadChoice &threads = bound->threads;
  if (hostServices().stayAlone)
    hostServices().stayAlone(threads.alone(launcher));
  bool isMeasuring = threads.isMeasuring(launcher);
  ThreadChoice::Times start;
  if (isMeasuring)
    start = ThreadChoice::now();
  Status status =
      device.run(program.get(), operands, bound->symbols, arena, site);
  if (isMeasuring)
    threads.record(start, ThreadChoice::now());
  if (auto waiting = hostServices().waitingTeam)
    state.team = waiting();
  return status;
}

Error Launch::atSite(Error error, int64_t number) {
  // Operands that are not the program's are refused before it runs.
  bool mayBe = number < 0 ? error.code != ErrorCode::InvalidArgument
                          : bound->artifact().spoils(number);
  spoilt = mayBe && std::ranges::any_of(
                        bound->artifact().donated,
                        [](const auto &input) { return input.has_value(); });
  if (spoilt)
    error.hint = "values that this graph was updating in place are lost: load "
                 "them from a checkpoint";
  std::optional<BoundProgram::Site> site = bound->siteOf(number);
  if (!site)
    return error;
  error.message = site->op + "(" + site->operands + "): " + error.message;
  error.op = site->op;
  error.source = site->source;
  return error;
}

} // namespace ltc::runtime
