//===- graph/executor.cpp - Syncs: pending work becomes launches ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/executor.h"

#include "ltc/autopsy.h"
#include "ltc/settings.h"
#include "ltc/trace.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/graph/collect.h"
#include "ltc_backend/graph/dry_run.h"
#include "ltc_backend/graph/number.h"
#include "ltc_backend/parallel.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/recorder.h"

#include <torch/csrc/lazy/core/metrics.h>

#include <atomic>
#include <deque>

namespace ltc::backend {

static std::atomic<InterruptHook> interruptHook{nullptr};

void setInterruptHook(InterruptHook hook) { interruptHook = hook; }

static std::atomic<const WaitHooks *> waitHooks{nullptr};

void setWaitHooks(const WaitHooks &hooks) { waitHooks = &hooks; }

Waiting::Waiting() {
  if (const WaitHooks *hooks = waitHooks)
    released = hooks->release();
}

Waiting::~Waiting() {
  if (released)
    waitHooks.load()->restore(released);
}

Engine &engine(int64_t device) {
  return *valueOrRaise(engineFor(uint32_t(device)));
}

template <typename Awaited> static void waitInterruptibly(Awaited &awaited) {
  using namespace std::chrono_literals;
  if (awaited.waitFor(0ms))
    return;
  Waiting waiting;
  while (!awaited.waitFor(50ms))
    if (InterruptHook hook = interruptHook.load())
      hook();
}

void waitFor(Buffer &buffer) { waitInterruptibly(buffer); }
void waitFor(Marker &marker) { waitInterruptibly(marker); }

std::mutex &syncMutex(int64_t device) {
  static auto *guard = new std::mutex;
  static auto *mutexes = new std::deque<std::mutex>;
  std::lock_guard lock(*guard);
  while (mutexes->size() <= size_t(device))
    mutexes->emplace_back();
  return (*mutexes)[device];
}

static std::vector<DimMark> marksOf(const Collection &collection) {
  std::lock_guard lock(pendingList(collection.device).mutex);
  return collection.marks();
}

namespace {
/// A result that will never come: its graph could not be compiled, or was not
/// to be run.
class FailedBuffer final : public Buffer {
public:
  FailedBuffer(TensorType type, Error error)
      : resultType(std::move(type)), error(std::move(error)) {}
  const TensorType &type() const override { return resultType; }
  Status wait() override { return error; }
  bool waitFor(std::chrono::milliseconds) override { return true; }

private:
  TensorType resultType;
  Error error;
};
} // namespace

namespace {
/// What tensors and nodes let go of, to be destroyed without the lock.
struct Released {
  std::vector<torch::lazy::Value> values;
  std::vector<OpNode::Operands> operands;
  std::vector<std::shared_ptr<OpNode>> checks;
};
} // namespace

/// Hands the results to their receivers.
static Released deliver(Collection &collection, PendingList &list,
                        const std::vector<BufferPtr> &buffers) {
  std::vector<std::shared_ptr<DeviceData>> results;
  results.reserve(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i)
    results.push_back(std::make_shared<DeviceData>(
        collection.device, collection.outputTypes[i]->shape, buffers[i]));

  Released released;
  released.values.reserve(collection.receivers.size());
  released.operands.reserve(collection.receivers.size());
  std::lock_guard lock(list.mutex);
  for (auto &receiver : collection.receivers) {
    const auto &data = results[receiver.output];
    receiver.node->computed.resize(receiver.node->num_outputs());
    receiver.node->computed[receiver.index] = data;
    TensorData *tensor = receiver.tensor.get();
    // It may have been given another value meanwhile.
    if (!tensor || tensor->ir_value.node != receiver.node)
      continue;
    list.unlink(*tensor);
    tensor->handle = data;
    std::swap(released.values.emplace_back(), tensor->ir_value);
    ++tensor->generation;
  }
  for (const OpNode *constNode : collection.nodes) {
    auto &node = const_cast<OpNode &>(*constNode);
    if (node.computed.empty())
      continue;
    list.unlink(node);
    // A node that somebody still holds must not keep what led to it: its
    // buffers may have been donated.
    released.operands.push_back(std::move(node.inputs));
  }
  for (auto &check : list.checks)
    if (!check->computed.empty())
      released.checks.push_back(std::move(check));
  std::erase(list.checks, nullptr);
  return released;
}

static std::vector<BufferPtr> failedBuffers(const Collection &collection,
                                            const Error &error) {
  std::vector<BufferPtr> buffers;
  for (const ResultType *type : collection.outputTypes)
    buffers.push_back(std::make_shared<FailedBuffer>(type->type, error));
  return buffers;
}

/// Takes the collection's place with another of the device. One that lives on
/// would keep the next from donating.
static void collectAnew(Collection &collection, PendingList &list,
                        Collected what) {
  const int64_t device = collection.device;
  collection = Collection();
  std::lock_guard lock(list.mutex);
  collection = collect(device, list, what);
}

static bool settleNumbers(int64_t device, PendingList &list) {
  Collection numbers;
  numbers.device = device;
  collectAnew(numbers, list, Collected::Numbers);
  std::vector<BufferPtr> buffers = computeNumbers(numbers, list);
  if (buffers.empty())
    return false;
  static Counter &computed = counter("graph.host_numbers");
  computed.add(int64_t(buffers.size()));
  auto released = deliver(numbers, list, buffers);
  return true;
}

/// The executable of the collection without its numbers, which then are there
/// and no longer part of it; or null, with the collection as it was.
static ExecutablePtr findWithoutNumbers(Engine &engine, Collection &collection,
                                        PendingList &list) {
  if (!collection.hasNumbers)
    return nullptr;
  collectAnew(collection, list, Collected::AllButNumbers);
  ExecutablePtr known =
      collection.empty() ? nullptr : engine.lookup(collection.key);
  if (known && settleNumbers(collection.device, list))
    return known;
  collectAnew(collection, list, Collected::All);
  return nullptr;
}

static Result<ExecutablePtr> findExecutable(Engine &engine,
                                            Collection &collection,
                                            PendingList &list, SourceId place) {
  ExecutablePtr known = engine.lookup(collection.key);
  if (!known)
    known = findWithoutNumbers(engine, collection, list);
  if (known) {
    TORCH_LAZY_COUNTER("CachedCompile", 1);
    return known;
  }
  // Other threads may have dropped all there was before it was collected anew.
  if (collection.empty())
    return ExecutablePtr();
  TORCH_LAZY_COUNTER("UncachedCompile", 1);
  Span span(Stage::Graph);
  Graph graph = collection.build(place);
  if (Status valid = graph.verify(); !valid)
    return valid.takeError();
  return engine.compile(graph, marksOf(collection));
}

static Result<std::vector<BufferPtr>> compileAndLaunch(Engine &engine,
                                                       Collection &collection,
                                                       PendingList &list,
                                                       SourceId place) {
  noteThreadCount();
  auto executable = findExecutable(engine, collection, list, place);
  if (!executable)
    return executable.takeError();
  if (collection.empty())
    return std::vector<BufferPtr>();
  releaseThreads();
  return engine.launch(*executable, std::move(collection.arguments));
}

void sync(int64_t device, bool wait) {
  Engine &target = engine(device);
  const bool dry = settings().dry_run;
  // Before any lock: it may take the GIL.
  const SourceId place = currentSource();
  Waiting waiting;
  std::vector<BufferPtr> buffers;
  {
    std::lock_guard oneAtATime(syncMutex(device));
    PendingList &list = pendingList(device);
    Collection collection;
    {
      std::lock_guard lock(list.mutex);
      collection = collect(device, list);
      if (!collection.empty())
        list.hostReads.clear();
    }
    if (collection.empty())
      return;
    std::optional<Error> failure;
    if (dry) {
      if (!target.lookup(collection.key))
        compileInBackground(target, collection.build(place),
                            marksOf(collection));
      failure = dryRunError();
    } else if (auto launched =
                   compileAndLaunch(target, collection, list, place)) {
      buffers = std::move(*launched);
    } else {
      failure = launched.takeError();
    }
    if (failure)
      buffers = failedBuffers(collection, *failure);
    auto released = deliver(collection, list, buffers);
    if (failure && !dry)
      raise(*failure);
  }
  if (wait && !dry)
    for (const BufferPtr &buffer : buffers) {
      waitFor(*buffer);
      raiseIfFailed(buffer->wait());
    }
  // After all that: the values are there, whatever the guard says.
  raiseIfFailed(CompileGuard::check());
}

void Executor::RegisterTensor(std::shared_ptr<torch::lazy::LazyTensor::Data>) {}

void Executor::UnregisterTensor(torch::lazy::LazyTensor::Data *) {}

void Executor::SyncLiveTensorsGraph(const torch::lazy::BackendDevice *device,
                                    c10::ArrayRef<std::string>, bool wait) {
  if (device)
    return sync(device->ordinal(), wait);
  for (int64_t i = 0; i < deviceCount(); ++i)
    sync(i, wait);
}

} // namespace ltc::backend
