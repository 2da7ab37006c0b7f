//===- graph/executor.cpp - Syncs: pending work becomes launches ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/executor.h"

#include "ltc/autopsy.h"
#include "ltc/cpu_kernels.h"
#include "ltc/graph_name.h"
#include "ltc/profile.h"
#include "ltc/settings.h"
#include "ltc/trace.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/collect.h"
#include "ltc_backend/graph/dry_run.h"
#include "ltc_backend/graph/failed_nodes.h"
#include "ltc_backend/graph/interpreter/checked_launch.h"
#include "ltc_backend/graph/interpreter/first_sight.h"
#include "ltc_backend/graph/interpreter/interpreter.h"
#include "ltc_backend/graph/profiled_run.h"
#include "ltc_backend/graph/reads/host_eval.h"
#include "ltc_backend/graph/reads/read_habit.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/graph/saved_graph.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/tape.h"
#include "ltc_backend/waiting.h"

#include <torch/csrc/lazy/core/metrics.h>

namespace ltc::backend {

static std::vector<DimMark> marksOf(const Collection &collection) {
  std::lock_guard lock(pendingList(collection.device).mutex);
  return collection.marks();
}

namespace {
/// What tensors and nodes let go of, to be destroyed without the lock.
struct Released {
  std::vector<torch::lazy::Value> values;
  std::vector<OpNode::Operands> operands;
  std::vector<std::shared_ptr<OpNode>> checks;
};
} // namespace

namespace {
/// Hands the results to their receivers. With the list's lock.
class Delivery {
public:
  Delivery(Collection &collection, PendingList &list,
           const std::vector<BufferPtr> &buffers)
      : collection(collection), list(list) {
    results.reserve(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i)
      results.push_back({makeData(*collection.outputTypes[i], buffers[i])});
  }

  Released run() {
    released.values.reserve(collection.receivers.size());
    released.operands.reserve(collection.receivers.size());
    std::lock_guard lock(list.mutex);
    for (auto &receiver : collection.receivers)
      give(receiver);
    for (const OpNode *node : collection.nodes)
      if (!node->computed.empty())
        settle(const_cast<OpNode &>(*node));
    for (auto &check : list.checks)
      if (!check->computed.empty())
        released.checks.push_back(std::move(check));
    std::erase(list.checks, nullptr);
    return std::move(released);
  }

private:
  struct Result {
    std::shared_ptr<DeviceData> data;
    bool isGiven = false;
  };

  std::shared_ptr<DeviceData> makeData(const ResultType &type,
                                       const BufferPtr &buffer) const {
    auto data =
        std::make_shared<DeviceData>(collection.device, type.shape, buffer);
    data->replaced = collection.replaced;
    return data;
  }

  /// Data of its own for each tensor that may go back to what it had.
  std::shared_ptr<DeviceData> dataFor(const Collection::Receiver &receiver) {
    Result &result = results[receiver.output];
    bool isAlone = !result.isGiven || (receiver.place == DeviceData::kNoPlace &&
                                       result.data->place == receiver.place);
    if (!isAlone) {
      result.data = sharing(result.data);
      result.data->replaced = collection.replaced;
    }
    result.isGiven = true;
    result.data->place = receiver.place;
    return result.data;
  }

  void give(const Collection::Receiver &receiver) {
    std::shared_ptr<DeviceData> data = dataFor(receiver);
    receiver.node->computed.resize(receiver.node->num_outputs());
    receiver.node->computed[receiver.index] = data;
    TensorData *tensor = receiver.tensor.get();
    if (!tensor)
      return;
    // It may have been given another value meanwhile, which then replaces this.
    if (tensor->ir_value.node != receiver.node) {
      if (tensor->before)
        tensor->before = std::move(data);
      return;
    }
    list.unlink(*tensor);
    tensor->before = nullptr;
    tensor->handle = std::move(data);
    std::swap(released.values.emplace_back(), tensor->ir_value);
    ++tensor->generation;
  }

  void settle(OpNode &node) {
    list.unlink(node);
    // A node that somebody still holds must not keep what led to it: its
    // buffers may have been donated.
    released.operands.push_back(std::move(node.inputs));
  }

  Collection &collection;
  PendingList &list;
  std::vector<Result> results;
  Released released;
};
} // namespace

static Released deliver(Collection &collection, PendingList &list,
                        const std::vector<BufferPtr> &buffers) {
  return Delivery(collection, list, buffers).run();
}

static std::vector<BufferPtr> unrunBuffers(const Collection &collection) {
  std::vector<BufferPtr> buffers;
  for (const ResultType *type : collection.outputTypes)
    buffers.push_back(unrunBuffer(type->type, dryRunError()));
  return buffers;
}

static std::vector<BufferPtr> failedBuffers(const Collection &collection,
                                            const Error &error, bool isTold) {
  auto failure = std::make_shared<HostFailure>(error, collection.replaced);
  failure->isTold = isTold;
  std::vector<BufferPtr> buffers;
  for (const ResultType *type : collection.outputTypes)
    buffers.push_back(failedBuffer(type->type, failure));
  return buffers;
}

/// Takes the collection's place with another of the device. One that lives on
/// would keep the next from donating.
static void collectAnew(Collection &collection, PendingList &list,
                        Collected what, Recorded whose) {
  const int64_t device = collection.device;
  collection = Collection();
  std::lock_guard lock(list.mutex);
  collection = collect(device, list, what, whose);
}

static bool settleNumbers(int64_t device, PendingList &list, Recorded whose) {
  Collection numbers;
  numbers.device = device;
  collectAnew(numbers, list, Collected::Numbers, whose);
  std::vector<BufferPtr> buffers = computeNumbers(numbers, list);
  if (buffers.empty())
    return false;
  static Counter &computed = counter("graph.host_numbers");
  computed.add(int64_t(buffers.size()));
  auto released = deliver(numbers, list, buffers);
  return true;
}

bool hasTiers(Engine &engine) {
  return settings().tiers != "off" && settings().dump.empty() &&
         !settings().verify && engine.isHost();
}

/// Whether a setting asks for ops one by one, programs or not.
static bool runsCallByCall(Engine &engine, const Collection &collection) {
  const Settings &now = settings();
  return (now.sync || now.detect_nan != "off") && engine.isHost() &&
         hasKernels(collection);
}

static ExecutablePtr find(Engine &engine, const Collection &collection) {
  profile::Timed timed(profile::Part::Lookup);
  return engine.lookup(collection.key);
}

/// The executable of the collection without its numbers, which then are there
/// and no longer part of it; or null, with the collection as it was.
static ExecutablePtr findWithoutNumbers(Engine &engine, Collection &collection,
                                        PendingList &list, Recorded whose) {
  if (!collection.hasNumbers || Tape::current())
    return nullptr;
  collectAnew(collection, list, Collected::AllButNumbers, whose);
  ExecutablePtr known = collection.empty() ? nullptr : find(engine, collection);
  if (known && settleNumbers(collection.device, list, whose))
    return known;
  collectAnew(collection, list, Collected::All, whose);
  return nullptr;
}

/// The executable of the collection, or null where it is to be interpreted.
static Result<ExecutablePtr> findExecutable(Engine &engine,
                                            Collection &collection,
                                            PendingList &list, Recorded whose,
                                            SourceId place) {
  if (runsCallByCall(engine, collection)) [[unlikely]]
    return ExecutablePtr();
  ExecutablePtr known = find(engine, collection);
  if (!known) {
    if (hasTiers(engine) && engine.defersAgain(collection.key))
      return ExecutablePtr();
    known = findWithoutNumbers(engine, collection, list, whose);
  }
  if (known) {
    TORCH_LAZY_COUNTER("CachedCompile", 1);
    return known;
  }
  // Other threads may have dropped all there was before it was collected anew.
  if (collection.empty())
    return ExecutablePtr();
  const bool mayDefer = hasTiers(engine) && canInterpret(collection);
  if (mayDefer && !CompileWatch::isEntered() && isSmallAndNew(collection)) {
    engine.noteDeferred(collection.key);
    return ExecutablePtr();
  }
  Span span(Stage::Graph);
  Graph graph = collection.build(place);
  syncs::Timed timed(profile::Part::Compile);
  // A graph of other sizes, or one on disk, is new here but not compiled.
  static Counter &compiles = counter("codegen.graphs");
  const int64_t before = compiles.get();
  auto made = engine.compile(graph, marksOf(collection), mayDefer);
  if (compiles.get() != before)
    TORCH_LAZY_COUNTER("UncachedCompile", 1);
  else if (made && *made)
    TORCH_LAZY_COUNTER("CachedCompile", 1);
  return made;
}

/// Waits for the inputs. False if one has failed.
static bool awaitInputs(const Collection &collection) {
  for (const LaunchArgument &argument : collection.arguments)
    if (argument.buffer) {
      waitUninterrupted(*argument.buffer);
      if (argument.buffer->failure())
        return false;
    }
  return true;
}

/// The error of an input that never has a value, as one of a builder's graph:
/// a launch looks itself.
static Status checkMemory(const Collection &collection) {
  for (const LaunchArgument &argument : collection.arguments)
    if (argument.buffer && !argument.buffer->hostPointer())
      if (Status status = argument.buffer->wait(); !status)
        return status;
  return {};
}

/// Interprets the collection, or what is left of it if inputs turn out to have
/// failed.
static Result<std::vector<BufferPtr>> interpretAll(Engine &engine,
                                                   Collection &collection,
                                                   PendingList &list,
                                                   Recorded whose) {
  using namespace std::chrono;
  static Counter &graphs = counter("execute.interpreted");
  static Counter &busy = counter("execute.busy_microseconds");
  while (!awaitInputs(collection)) {
    settleFailed(list, collection.device);
    collectAnew(collection, list, Collected::All, whose);
    if (collection.empty())
      return std::vector<BufferPtr>();
  }
  if (Status status = checkMemory(collection); !status)
    return status.takeError();
  graphs.add();
  profile::Timed timed(profile::Part::Execute);
  InterpretedRun run(collection);
  auto start = steady_clock::now();
  auto buffers = interpret(engine, collection);
  busy.add(duration_cast<microseconds>(steady_clock::now() - start).count());
  if (buffers) {
    run.check(*buffers);
    return buffers;
  }
  std::vector<TensorType> types;
  for (const ResultType *type : collection.outputTypes)
    types.push_back(type->type);
  Error error = buffers.takeError();
  error.message += "; in " + graphName(collection.key, collection.nodes.size());
  return engine.fail(types, std::move(error), collection.replaced);
}

static Result<std::vector<BufferPtr>>
findAndLaunch(Engine &engine, Collection &collection, PendingList &list,
              Recorded whose, SourceId place) {
  kernels::noteThreadCount();
  auto executable = findExecutable(engine, collection, list, whose, place);
  if (!executable)
    return executable.takeError();
  if (collection.empty())
    return std::vector<BufferPtr>();
  if (!*executable)
    return interpretAll(engine, collection, list, whose);
  kernels::releaseThreads();
  if (isChecked(collection.key)) [[unlikely]]
    if (awaitInputs(collection) && checkMemory(collection))
      return launchChecked(engine, *executable, collection.build(place),
                           collection.key, std::move(collection.arguments),
                           collection.replaced);
  profile::Timed timed(profile::Part::Queue);
  if (profile::isOn()) [[unlikely]]
    nameRun(collection);
  return engine.launch(*executable, std::move(collection.arguments),
                       collection.replaced);
}

/// What a tape keeps of it, before it is launched.
static Tape::Launch taped(const Collection &collection, SourceId place) {
  Tape::Launch launch;
  launch.device = collection.device;
  launch.key = collection.key;
  launch.graph = std::make_shared<const Graph>(collection.build(place));
  for (const LaunchArgument &argument : collection.arguments) {
    launch.inputs.emplace_back(argument.buffer);
    launch.bits.push_back(uint64_t(argument.integer));
  }
  for (const Collection::Receiver &receiver : collection.receivers)
    if (receiver.tensor)
      launch.receivers.push_back({receiver.tensor, receiver.output});
  for (const ResultType *type : collection.outputTypes)
    launch.shapes.push_back(type->shape);
  return launch;
}

/// Under the names of PyTorch's own executor.
static void countForTorch(const Collection &collection) {
  TORCH_LAZY_COUNTER("SyncedTensorsWithIR",
                     int64_t(collection.receivers.size()));
  TORCH_LAZY_VALUE_METRIC("TensorsGraphSize", double(collection.nodes.size()));
}

/// A dry run's launch.
static std::vector<BufferPtr>
compileOnly(Engine &target, const Collection &collection, SourceId place) {
  if (!target.lookup(collection.key))
    compileInBackground(target, collection.build(place), marksOf(collection));
  return unrunBuffers(collection);
}

/// `raises`: the caller's program sees it.
static void sync(int64_t device, bool wait, Recorded whose,
                 bool raises = true) {
  Engine &target = engine(device);
  const bool dry = settings().dry_run;
  SyncCause cause(profile::Cause::Other); // unless the caller has given one
  profile::Timed timed(profile::Part::Graph);
  // Before any lock: it may take the GIL.
  const SourceId place = currentSource();
  const Frames frames = framesToSave();
  if (Tape *tape = Tape::current(); tape && tape->beforeLaunch) [[unlikely]]
    tape->beforeLaunch();
  Waiting waiting;
  std::vector<BufferPtr> buffers;
  std::optional<Error> failure;
  {
    std::lock_guard oneAtATime(syncMutex(device));
    PendingList &list = pendingList(device);
    settleFailed(list, device);
    Collection collection;
    {
      std::lock_guard lock(list.mutex);
      collection = collect(device, list, Collected::All, whose);
      if (!collection.empty()) {
        list.hostReads.clear();
        list.turn = {};
      }
    }
    if (collection.empty())
      return noteWitnesses(list);
    countForTorch(collection);
    noteGraph(collection.nodes.size());
    syncs::countGraph();
    if (Tape *tape = Tape::current()) [[unlikely]]
      tape->launches.push_back(taped(collection, place));
    if (frames) [[unlikely]]
      saveGraph(collection, *frames);
    if (dry) {
      buffers = compileOnly(target, collection, place);
    } else if (auto launched =
                   findAndLaunch(target, collection, list, whose, place)) {
      buffers = std::move(*launched);
    } else {
      failure = launched.takeError();
      if (failure->code == ErrorCode::CompileFailed)
        failure->message +=
            "; in " + graphName(collection.key, collection.nodes.size());
      buffers = failedBuffers(collection, *failure, /*isTold=*/raises);
    }
    if (Tape *tape = Tape::current()) [[unlikely]]
      tape->launches.back().results.assign(buffers.begin(), buffers.end());
    auto released = deliver(collection, list, buffers);
    noteWitnesses(list);
  }
  if (!raises)
    return;
  if (failure)
    raiseUndone(device, *failure);
  if (wait && !dry)
    for (const BufferPtr &buffer : buffers)
      waitForResult(device, *buffer);
  // After all that: the values are there, whatever the guard says.
  raiseIfFailed(CompileWatch::check());
}

void sync(int64_t device, bool wait, c10::ArrayRef<TensorDataPtr> wanted) {
  sync(device, wait, Recorded{currentThread(), wanted});
}

void syncOnly(int64_t device, const TensorDataPtr &wanted, bool raises) {
  sync(device, /*wait=*/false, Recorded{/*no thread*/ &wanted, wanted}, raises);
}

void syncAll(int64_t device, bool wait) { sync(device, wait, Recorded{}); }

void Executor::RegisterTensor(std::shared_ptr<torch::lazy::LazyTensor::Data>) {}

void Executor::UnregisterTensor(torch::lazy::LazyTensor::Data *) {}

void Executor::MarkStep(const torch::lazy::BackendDevice &) {
  TORCH_LAZY_COUNTER("MarkStep", 1);
}

void Executor::SyncLiveTensorsGraph(const torch::lazy::BackendDevice *device,
                                    c10::ArrayRef<std::string>, bool wait) {
  SyncCause cause(profile::Cause::MarkStep);
  if (device)
    return syncAll(device->ordinal(), wait);
  for (int64_t i = 0; i < deviceCount(); ++i)
    syncAll(i, wait);
}

} // namespace ltc::backend
