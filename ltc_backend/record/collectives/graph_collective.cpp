//===- collectives/graph_collective.cpp - Begun by a graph ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/graph_collective.h"

#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc_backend/library.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <unordered_map>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;

/// Far from what a kernel is asked about a call with: zeros, ones and the like.
constexpr int64_t kFirstNumber = int64_t(1) << 32;

static thread_local bool starting = false;

bool isStarting() { return starting; }

namespace {
/// Those that are to run or to be fetched.
struct Registry {
  std::mutex mutex;
  int64_t last = kFirstNumber, lastStarted = kFirstNumber;
  std::unordered_map<int64_t, GraphCollectivePtr> known;

  int64_t next() {
    std::lock_guard lock(mutex);
    return ++last;
  }
  GraphCollectivePtr find(int64_t number) {
    std::lock_guard lock(mutex);
    auto found = known.find(number);
    TORCH_CHECK(found != known.end(), "no collective has the number ", number);
    return found->second;
  }
  void noteStart(int64_t number) {
    std::lock_guard lock(mutex);
    lastStarted = std::max(lastStarted, number);
  }
  std::vector<GraphCollectivePtr> all() {
    std::lock_guard lock(mutex);
    std::vector<GraphCollectivePtr> found;
    for (auto &[number, each] : known)
      found.push_back(each);
    return found;
  }
  void add(GraphCollectivePtr collective) {
    std::vector<GraphCollectivePtr> over = all();
    int64_t recorded, started;
    {
      std::lock_guard lock(mutex);
      recorded = last - 1;
      started = lastStarted;
    }
    std::erase_if(over, [&](const GraphCollectivePtr &each) {
      return !each->isOver(recorded, started);
    });
    std::lock_guard lock(mutex);
    for (const GraphCollectivePtr &each : over)
      known.erase(each->number);
    known[collective->number] = std::move(collective);
  }
};
} // namespace

static Registry &registry() {
  static auto *only = new Registry;
  return *only;
}

int64_t firstInChain() { return kFirstNumber; }

void keep(const GraphCollectivePtr &collective) { registry().add(collective); }

void awaitAllBegun() {
  for (const GraphCollectivePtr &each : registry().all())
    each->awaitEnd();
}

/// A tensor without memory.
static Tensor typeOf(const Tensor &tensor) {
  if (!tensor.defined())
    return tensor;
  return at::empty(tensor.sizes(),
                   at::device(at::kMeta).dtype(tensor.scalar_type()));
}

GraphCollective::GraphCollective(const Collective &kind, CollectiveCall call,
                                 c10::OperatorHandle op,
                                 std::vector<IValue> given)
    : call(std::move(call)), number(registry().next()), kind(kind),
      op(std::move(op)), arguments(std::move(given)) {
  c10::InferenceMode ordinary(false);
  at::AutoDispatchBelowADInplaceOrView below;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (isFilled(i) || kind.access == Access::Update)
      forEachNested(arguments[i],
                    [&](const Tensor &tensor) { outputs += tensor.defined(); });
    arguments[i] = mapNested(arguments[i], typeOf);
  }
}

IValue GraphCollective::lend(const IValue &value, size_t argument,
                             const Tensor *&next, at::Device place) {
  return mapNested(value, [&](const Tensor &type) {
    if (!type.defined())
      return type;
    bool fills = isFilled(argument);
    Tensor memory =
        at::empty(type.sizes(), at::device(place).dtype(type.scalar_type()));
    // What the graph has there it may overwrite before the library has read it.
    if (!fills)
      memory.copy_(*next++);
    if (fills || kind.access == Access::Update)
      written.push_back(memory);
    return memory;
  });
}

void GraphCollective::start(c10::ArrayRef<Tensor> read, at::Device here) {
  std::lock_guard lock(mutex);
  at::Device place = call.place == at::kCPU ? at::Device(at::kCPU) : here;
  TORCH_CHECK(place.type() == call.place, call.text, " is for tensors of ",
              call.place, ", and its graph ran with those of ", here);
  TORCH_CHECK(!begun, call.text, " has begun already");
  // The library may write on threads of its own.
  c10::InferenceMode ordinary(false);
  at::AutoDispatchBelowADInplaceOrView below;
  const Tensor *next = read.data();
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i)
    stack.push_back(lend(arguments[i], i, next, place));
  meetOnlyMatching(call, op.schema(), stack);
  starting = true;
  try {
    op.callBoxed(&stack);
  } catch (const std::runtime_error &error) {
    starting = false;
    raise(call.failure(error.what()));
  }
  starting = false;
  begun = stack.back().toCustomClass<c10d::Work>();
  arguments.clear();
  watch();
}

/// Other ranks are waited for from now on. Not all of Gloo's calls tell when
/// they are done.
void GraphCollective::watch() {
  if (call.group)
    waiting = call.group->begin(call.meeting);
  began = std::chrono::steady_clock::now();
  try {
    begun->getFuture()->addCallback(
        [group = call.group, waiting = waiting,
         weak = weak_from_this()](c10::ivalue::Future &done) {
          if (auto self = weak.lock())
            self->noteEnd();
          if (group && !done.hasError())
            group->end(waiting);
        },
        /*uses_future=*/false);
  } catch (const c10::Error &) {
    return; // fetch() ends it then, as it does what has failed
  }
}

static void addSince(Counter &sum,
                     std::chrono::steady_clock::time_point start) {
  using namespace std::chrono;
  sum.add(duration_cast<microseconds>(steady_clock::now() - start).count());
}

void GraphCollective::noteEnd() {
  static Counter &spent = counter("execute.collective_microseconds");
  if (!hasEnded.exchange(true))
    addSince(spent, began);
}

c10::intrusive_ptr<c10d::Work> GraphCollective::work() {
  std::lock_guard lock(mutex);
  return begun;
}

void GraphCollective::addFetch(std::weak_ptr<torch::lazy::Node> node) {
  std::lock_guard lock(mutex);
  fetches.push_back(std::move(node));
}

bool GraphCollective::isOver(int64_t lastRecorded, int64_t lastStarted) {
  std::lock_guard lock(mutex);
  if (fetches.size() < outputs ||
      !std::ranges::all_of(fetches, [](auto &node) { return node.expired(); }))
    return false;
  if (!unheld)
    unheld = lastRecorded;
  return lastStarted > unheld && (!begun || begun->isCompleted());
}

void GraphCollective::awaitEnd() {
  auto under = work();
  if (!under)
    return;
  try {
    under->wait();
  } catch (const std::exception &error) {
    std::lock_guard lock(mutex);
    if (!isFetched)
      log(LogLevel::Warn, Stage::Execute,
          "at exit, nobody had waited for a collective: " +
              call.failure(error.what()).message);
  }
}

Tensor GraphCollective::fetch(int64_t index) {
  auto under = work();
  TORCH_CHECK(under, call.text, " has not begun");
  {
    std::lock_guard lock(mutex);
    isFetched = true;
  }
  static Counter &waited = counter("execute.collective_wait_microseconds");
  auto start = std::chrono::steady_clock::now();
  try {
    under->wait();
  } catch (const std::exception &error) {
    Error failure = call.failure(error.what());
    if (call.group)
      call.group->end(waiting);
    raise(failure);
  }
  addSince(waited, start);
  noteEnd();
  if (call.group)
    call.group->end(waiting);
  std::lock_guard lock(mutex);
  TORCH_CHECK(written.at(index).defined(), call.text, " was fetched before");
  return std::move(written[index]);
}

/// The kernels, on the host or on a GPU, with what a graph has computed.
static Tensor startCall(const Tensor &after, at::TensorList read,
                        const at::Scalar &number, c10::string_view) {
  auto collective = registry().find(number.toLong());
  // Of a GPU the host would have to wait for the number.
  TORCH_CHECK(!after.is_cpu() ||
                  *after.const_data_ptr<int64_t>() == collective->after,
              collective->call.text, " is out of order");
  // First: what the library allocates, and goes on with, is no result's memory
  // (aten/placement.h).
  Tensor token = at::empty({}, after.options());
  token.fill_(collective->number);
  registry().noteStart(collective->number);
  collective->start(read, after.device());
  return token;
}

static Tensor fetchResult(const Tensor &started, const at::Scalar &number,
                          int64_t index, at::IntArrayRef, int64_t) {
  auto collective = registry().find(number.toLong());
  TORCH_CHECK(!started.is_cpu() ||
                  *started.const_data_ptr<int64_t>() >= collective->number,
              collective->call.text, " is awaited out of order");
  return collective->fetch(index).to(started.device());
}

static Tensor startOnMeta(const Tensor &, at::TensorList, const at::Scalar &,
                          c10::string_view) {
  return at::empty({}, at::device(at::kMeta).dtype(at::kLong));
}

static Tensor fetchOnMeta(const Tensor &, const at::Scalar &, int64_t,
                          at::IntArrayRef shape, int64_t dtype) {
  return at::empty(
      shape, at::device(at::kMeta).dtype(static_cast<at::ScalarType>(dtype)));
}

void registerGraphCollectives() {
  auto tensor = c10::TensorType::get();
  auto number = c10::NumberType::get();
  auto integer = c10::IntType::get();
  defineOwnOp("collective_start",
              {{"after", tensor},
               {"tensors", c10::ListType::ofTensors()},
               {"number", number},
               {"call", c10::StringType::get()}},
              /*results=*/1);
  defineOwnOp("collective_wait",
              {{"started", tensor},
               {"number", number},
               {"index", integer},
               {"shape", c10::ListType::ofInts()},
               {"dtype", integer}},
              /*results=*/1);
  auto implement = [](const char *name, c10::DispatchKey key, auto *kernel) {
    ownLibrary().impl(name, torch::dispatch(key, kernel));
  };
  for (auto key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) {
    implement("collective_start", key, startCall);
    implement("collective_wait", key, fetchResult);
  }
  implement("collective_start", c10::DispatchKey::Meta, startOnMeta);
  implement("collective_wait", c10::DispatchKey::Meta, fetchOnMeta);
}

} // namespace ltc::backend
