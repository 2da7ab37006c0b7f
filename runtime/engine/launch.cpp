//===- launch.cpp - One run of a program, in the queue ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/launch.h"

#include "ltc/graph_name.h"
#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/profile.h"
#include "ltc/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ltc::runtime {

Launch::Launch(LaunchState &state, RunShape given,
               std::vector<ScalarOrBuffer> arguments,
               std::vector<DeviceBufferPtr> results,
               std::shared_ptr<Completion> completion,
               std::shared_ptr<const void> kept,
               WaitHabit::Duration sinceLaunch)
    : state(state), shape(std::move(given)), bound(shape.bound),
      arguments(std::move(arguments)), results(std::move(results)),
      completion(std::move(completion)), kept(std::move(kept)),
      sinceLaunch(sinceLaunch),
      isTold(std::ranges::any_of(
          this->arguments, [](const ScalarOrBuffer &argument) {
            return argument.buffer && argument.buffer->isUndone();
          })) {
  if (profile::isOn()) [[unlikely]]
    profiled = profile::submitRun();
  if (spans::isOn()) [[unlikely]]
    context = spans::listener().context();
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
  if (shape.prepared && shape.prepared->failure)
    return shape.prepared->failure;
  for (const ScalarOrBuffer &argument : arguments)
    if (argument.buffer && argument.buffer->completion->failed())
      return argument.buffer->completion->failed();
  return nullptr;
}

void Launch::giveBack() {
  for (size_t i = 0; i < results.size(); ++i) {
    if (auto donated = shape.donated(i); donated && !spoilt) {
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

Work::Progress Launch::run(bool borrows) {
  measureLoop();
  begun = LoopMeter::Clock::now();
  spans::WorkFor listened(context.get());
  profile::Timed timed(profile::Part::Execute);
  spans::Span span(context ? "run " : "",
                   context ? bound->key.str().substr(0, 8) : "");
  if (profiled) [[unlikely]]
    profile::beginRun(profiled);
  if (FailurePtr failure = failedInput()) {
    // What the program computes from a value that it knows to be missing is
    // another error.
    complete(isTold ? state.fail(failure->error) : std::move(failure));
    return Progress::Done;
  }
  Progress progress = attempt(borrows);
  if (progress == Progress::Done)
    complete(asFailure());
  return progress;
}

Work::Progress Launch::attempt(bool borrows) {
  Span span(Stage::Execute);
  // The arena that it would grow from is in use.
  if (state.onDevice && !state.arena.has(bound->arenaBytes)) {
    isAlone = true;
    return Progress::Later;
  }
  Status prepared = prepare();
  if (!prepared && mustWait(prepared)) {
    isAlone = true;
    giveBack();
    return Progress::Later;
  }
  fault = prepared ? execute(borrows) : Fault{ofRefused(prepared.takeError())};
  if (!fault && fence) {
    ++state.onDevice;
    return Progress::GoesOn;
  }
  return Progress::Done;
}

bool Launch::mustWait(const Status &prepared) const {
  return state.onDevice && prepared.error().code == ErrorCode::OutOfMemory;
}

bool Launch::mayOverlap() const {
  return !isAlone && state.isAsynchronous && !bound->program->hasHostCalls();
}

bool Launch::succeeds() {
  fault = fence.wait();
  // In the order of the queue: what is started later runs again.
  if (fault)
    (void)bound->program->home()->resume();
  return !fault;
}

void Launch::takeBack() {
  (void)fence.wait();
  fence = Fence();
  --state.onDevice;
  hasBegun = false;
  giveBack();
}

void Launch::finish() {
  fence = Fence();
  --state.onDevice;
  complete(asFailure());
}

FailurePtr Launch::asFailure() {
  static Counter &kernels = counter("execute.kernels");
  if (fault) [[unlikely]] {
    Error error = hasBegun ? atSite(std::move(fault->error), fault->site)
                           : std::move(fault->error);
    error.message += "; in " + graphName(bound->key, bound->ops());
    return state.fail(std::move(error));
  }
  kernels.add(bound->launches);
  return nullptr;
}

void Launch::checkNumbers() {
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorType &type = results[i]->type();
    if (type.elements() != 1)
      continue;
    const void *data = results[i]->memory.hostPointer();
    bool isNan = data && type.dtype == DType::F32
                     ? std::isnan(*static_cast<const float *>(data))
                 : data && type.dtype == DType::F64
                     ? std::isnan(*static_cast<const double *>(data))
                     : false;
    if (!isNan || !profile::isFirstNotANumber(profiled))
      continue;
    auto [op, place] = bound->makerOfResult(shape.result(i));
    profile::addNotANumber(profiled, op, place);
  }
}

void Launch::complete(FailurePtr failure) {
  if (failure) {
    static Counter &undone = counter("execute.undone");
    undone.add();
    giveBack();
    if (shape.prepared && !shape.isAgain) {
      shape.prepared->updated->keep(kept);
      shape.prepared->remade->keep(kept);
    } else if (shape.prepared && spoilt) {
      shape.prepared->updated->setRestored(false);
    }
    completion->keep(std::move(kept));
  }
  if (profiled && !failure) [[unlikely]] {
    checkNumbers();
    if (std::optional<Hash128> key = profile::keyOf(profiled);
        key && !stepTimes.empty())
      profile::addSteps(*key, profiled, bound, stepTimes,
                        {results.begin(), results.end()});
  }
  // Inputs go first: whoever wakes finds their memory free.
  arguments.clear();
  results.clear();
  kept.reset();
  bound.reset();
  auto prepared = std::exchange(shape, {}).prepared;
  --state.inFlight;
  if (profiled) [[unlikely]]
    profile::endRun(profiled);
  LoopMeter::Clock::time_point now = LoopMeter::Clock::now();
  state.countBusy(begun, now);
  if (state.onDevice == 0)
    state.loop.end(now);
  if (prepared)
    prepared->finish(failure);
  completion->finish(std::move(failure));
}

Error Launch::ofRefused(Error error) const {
  if (!refused)
    return error;
  auto [op, place] = bound->makerOfResult(*refused);
  if (op.empty())
    return error;
  error.message = op + ", whose result is " + bound->results[*refused].str() +
                  ": " + error.message;
  error.op = op;
  error.source = sourceOf(place);
  return error;
}

Status Launch::allocateResults() {
  refused.reset();
  for (size_t i = 0; i < results.size(); ++i) {
    if (auto donated = shape.donated(i)) {
      results[i]->memory = std::move(arguments[*donated].buffer->memory);
      continue;
    }
    Result<Memory> memory =
        bound->program->home()->allocate(results[i]->type().bytes());
    if (!memory) {
      refused = shape.result(i);
      return memory.takeError();
    }
    results[i]->memory = std::move(*memory);
  }
  return {};
}

Status Launch::prepare() {
  Device &device = *bound->program->home();
  if (Status status = allocateResults(); !status)
    return status;
  Result<ltc_buffer *> reserved =
      state.arena.reserve(device, bound->arenaBytes);
  if (!reserved) {
    Error error = reserved.takeError();
    error.message =
        "the values between a graph's inputs and results: " + error.message;
    error.source = bound->endedAt();
    return error;
  }
  arena = *reserved;
  gatherOperands();
  return {};
}

void Launch::setOperand(size_t index, ltc_buffer *buffer,
                        const TensorType &type, uint64_t bits) {
  operands()[index] = {buffer,
                       type.dims.data(),
                       uint32_t(type.dims.size()),
                       uint8_t(type.dtype),
                       0,
                       bits};
}

/// What stays from a run before stands where it is.
void Launch::gatherOperands() {
  const size_t inputs = bound->inputs.size();
  operands().resize(inputs + bound->results.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    DeviceBuffer *buffer = arguments[i].buffer.get();
    setOperand(shape.input(i), buffer ? buffer->memory.get() : nullptr,
               bound->inputs[shape.input(i)].tensor, arguments[i].bits);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    ltc_buffer *buffer = results[i]->memory.get();
    if (auto donated = shape.donated(i)) {
      ltc_operand &input = operands()[shape.input(*donated)];
      input.buffer = buffer;
      input.flags = LTC_DONATED;
    }
    setOperand(inputs + shape.result(i), buffer,
               bound->results[shape.result(i)], 0);
  }
}

ltc_launch Launch::wholeProgram() {
  return {sizeof(ltc_launch),
          operands().data(),
          operands().size(),
          bound->symbols.data(),
          bound->symbols.size(),
          arena,
          0,
          UINT32_MAX};
}

std::optional<Fault> Launch::execute(bool borrows) {
  if (bound->program->hasHostCalls()) [[unlikely]]
    return runWithHostCalls();
  hasBegun = true;
  if (profiled) [[unlikely]] {
    MemoryStats memory = bound->program->home()->memory(false);
    profile::noteMemory(profiled, memory.allocated, memory.reserved,
                        state.arena.bytes());
    std::optional<Hash128> key = profile::keyOf(profiled);
    isTimed = key && !state.isAsynchronous && profile::timesSteps(*key);
  }
  if (state.isAsynchronous) [[unlikely]]
    return start();
  return borrows ? runBorrowing(wholeProgram()) : runMeasured(wholeProgram());
}

std::optional<Fault> Launch::start() {
  Device &device = *bound->program->home();
  if (std::optional<Fault> fault =
          device.run(bound->program->get(), wholeProgram()))
    return fault;
  Result<Fence> behind = device.record();
  if (!behind)
    return Fault{behind.takeError()};
  fence = std::move(*behind);
  return std::nullopt;
}

std::optional<Fault> Launch::runWithHostCalls() {
  if (!bound->hostCalls) {
    auto made = HostCalls::make(bound->program->home(), bound->artifact(),
                                bound->program->onHost(), bound->symbols);
    if (!made)
      return Fault{made.takeError()};
    bound->hostCalls = std::move(*made);
  }
  hasBegun = true;
  return bound->hostCalls->run(bound->program->get(), wholeProgram(),
                               state.staging);
}

std::optional<Fault> Launch::runSteps(ltc_launch launch) {
  const Program &program = *bound->program;
  if (isTimed || context) [[unlikely]]
    return runStepByStep(launch);
  return program.home()->run(program.get(), launch);
}

std::optional<Fault> Launch::runStepByStep(ltc_launch launch) {
  const Program &program = *bound->program;
  auto steps = uint32_t(bound->artifact().steps.size());
  if (isTimed)
    stepTimes.reserve(steps + 1);
  std::optional<Fault> fault;
  for (uint32_t step = 0; step < steps && !fault; ++step) {
    if (isTimed)
      stepTimes.push_back(profile::now());
    launch.first_step = step;
    launch.end_step = step + 1;
    spans::Span span(context ? std::string_view(bound->labels()[step]) : "");
    fault = program.home()->run(program.get(), launch);
  }
  if (isTimed)
    stepTimes.push_back(profile::now());
  return fault;
}

std::optional<Fault> Launch::runBorrowing(const ltc_launch &launch) {
  static Counter &borrowed = counter("execute.borrowed");
  borrowed.add();
  auto borrow = hostServices().borrowThread;
  bool splits = bound->threads.splits(launcher, pool());
  if (borrow)
    borrow(true, splits ? state.team : WaitingTeam());
  std::optional<Fault> fault = runSteps(launch);
  if (borrow)
    borrow(false, {});
  return fault;
}

std::optional<Fault> Launch::runMeasured(const ltc_launch &launch) {
  ThreadChoice &threads = bound->threads;
  if (hostServices().stayAlone)
    hostServices().stayAlone(threads.alone(launcher));
  bool isMeasuring = !isTimed && !context && threads.isMeasuring(launcher);
  ThreadChoice::Times start;
  if (isMeasuring)
    start = ThreadChoice::now();
  std::optional<Fault> fault = runSteps(launch);
  if (isMeasuring)
    threads.record(start, ThreadChoice::now());
  if (auto waiting = hostServices().waitingTeam)
    state.team = waiting();
  return fault;
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
  // What no program calls says itself what it was for.
  if (!site->op.starts_with("torch_ltc::"))
    error.message = site->op + "(" + site->operands + "): " + error.message;
  error.op = site->op;
  error.source = site->source;
  return error;
}

} // namespace ltc::runtime
