//===- collectives/recorded_collective.cpp - Calls as nodes ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/recorded_collective.h"

#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/collectives/collective_chain.h"
#include "ltc_backend/record/collectives/collective_flush.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/tape.h"

#include "ltc/settings.h"

#include <unordered_set>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;
using c10::ivalue::Future;

/// Calls that the library has taken; then all are new again.
constexpr size_t kMostKnown = 4096;

static std::mutex knownMutex;
static std::unordered_set<Hash128> &known() {
  static auto *calls = new std::unordered_set<Hash128>;
  return *calls;
}

bool RecordableCall::isKnown() const {
  std::lock_guard lock(knownMutex);
  return known().contains(key);
}

void RecordableCall::makeKnown() const {
  std::lock_guard lock(knownMutex);
  if (known().size() >= kMostKnown)
    known().clear();
  known().insert(key);
}

/// Whether each graph of the device runs once, when it is due.
static bool runsOnce(int64_t device) {
  const Settings &now = settings();
  return homeOf(device) == device && !Tape::current() && !now.dry_run &&
         !now.verify && !now.sync && now.detect_nan == "off";
}

static void addValue(Hasher &hasher, const IValue &value) {
  if (value.isInt())
    hasher.add(uint64_t(value.toInt()));
  else if (value.isBool())
    hasher.add(uint64_t(value.toBool()));
  else if (value.isIntList())
    for (int64_t number : value.toIntVector())
      hasher.add(uint64_t(number));
  else if (isGroup(value))
    hasher.add(
        reinterpret_cast<uintptr_t>(value.toCustomClass<c10d::ProcessGroup>()
                                        ->getBackend(c10::DeviceType::Lazy)
                                        .get()));
  hasher.add(uint64_t(value.isList() ? value.toListRef().size() : 0));
  forEachNested(value, [&](const Tensor &tensor) {
    if (!tensor.defined())
      return (void)hasher.add(uint64_t(0));
    hasher.add(uint64_t(tensor.scalar_type()) + 1);
    hasher.add(uint64_t(tensor.dim()));
    for (int64_t size : tensor.sizes())
      hasher.add(uint64_t(size));
  });
}

std::optional<RecordableCall>
RecordableCall::of(const Collective &kind, const CollectiveCall &call,
                   const c10::OperatorHandle &op,
                   c10::ArrayRef<IValue> arguments) {
  bool isOfGroup = call.group || call.place != at::kCPU;
  if (!isOfGroup || call.isMessage || kind.access == Access::Read)
    return std::nullopt;
  RecordableCall found;
  Hasher hasher;
  hasher.add(call.op);
  hasher.add(call.meeting.match);
  bool fits = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    addValue(hasher, arguments[i]);
    if (isGroup(arguments[i]))
      found.ranks = arguments[i].toCustomClass<c10d::ProcessGroup>()->getSize();
    bool fills = kind.access == Access::Fill && i == 0;
    forEachNested(arguments[i], [&](const Tensor &tensor) {
      if (!tensor.defined())
        return;
      fits = fits && isPlain(tensor) && tensor.numel() > 0 &&
             (found.device < 0 || found.device == tensor.device().index());
      if (!fits)
        return;
      found.device = tensor.device().index();
      if (!fills)
        found.read.push_back(tensor);
      if (fills || kind.access == Access::Update)
        found.written.push_back(tensor);
    });
  }
  found.key = hasher.finish();
  if (!fits || found.written.empty() || !runsOnce(found.device))
    return std::nullopt;
  return found;
}

namespace {
/// Of what a graph begins. To wait is to record that values are awaited.
class RecordedWork final : public c10d::Work {
public:
  RecordedWork(GraphCollectivePtr collective, std::vector<Tensor> written,
               IValue outputs)
      : Work(-1, c10d::OpType::UNKNOWN), collective(std::move(collective)),
        written(std::move(written)), outputs(std::move(outputs)) {}
  ~RecordedWork() override;

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<Tensor> result() override;
  void synchronize() override { await(); }
  bool wait(std::chrono::milliseconds timeout) override;
  c10::intrusive_ptr<Future> getFuture() override;

private:
  void await();

  const GraphCollectivePtr collective;
  std::mutex awaiting;         ///< guards `written`; to record may take the GIL
  std::vector<Tensor> written; ///< until they have their values
  const IValue outputs;        ///< as Gloo's future has them
};
} // namespace

/// Gloo makes one list of one list.
static IValue outputsOf(const IValue &first) {
  if (first.isTensor())
    return std::vector<Tensor>{first.toTensor()};
  if (isListOfLists(first) && first.toListRef().size() == 1)
    return first.toListRef()[0];
  return first;
}

void RecordedWork::await() {
  std::vector<Tensor> tensors;
  {
    std::lock_guard lock(awaiting);
    tensors.swap(written);
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    recordFetch(*collective, int64_t(i), tensors[i]);
}

// Whoever has not waited does not know when the values come, in eager too.
RecordedWork::~RecordedWork() {
  try {
    await();
  } catch (const std::exception &) {
    return; // at the end of the process
  }
}

bool RecordedWork::isCompleted() {
  {
    std::lock_guard lock(awaiting);
    if (written.empty())
      return true;
  }
  SyncCause cause(profile::Cause::Collective, "is_completed");
  settleRecorded();
  auto work = collective->work();
  if (work && !work->isCompleted())
    return false;
  await();
  return true;
}

bool RecordedWork::isSuccess() const {
  auto work = collective->work();
  return !work || !work->isCompleted() || work->isSuccess();
}

std::exception_ptr RecordedWork::exception() const {
  auto work = collective->work();
  return work ? work->exception() : nullptr;
}

std::vector<Tensor> RecordedWork::result() {
  return isListOfLists(outputs) ? std::vector<Tensor>()
                                : outputs.toTensorVector();
}

bool RecordedWork::wait(std::chrono::milliseconds timeout) {
  // Who says for how long wants to know.
  if (timeout > kNoTimeout) {
    SyncCause cause(profile::Cause::Collective, "wait");
    settleRecorded();
    try {
      if (auto work = collective->work())
        work->wait(timeout);
    } catch (const std::exception &error) {
      raise(collective->call.failure(error.what()));
    }
  }
  await();
  return true;
}

c10::intrusive_ptr<Future> RecordedWork::getFuture() {
  await();
  auto future = c10::make_intrusive<Future>(
      isListOfLists(outputs)
          ? c10::TypePtr(c10::ListType::create(c10::ListType::ofTensors()))
          : c10::TypePtr(c10::ListType::ofTensors()));
  future->markCompleted(outputs);
  return future;
}

void RecordableCall::record(const Collective &kind, CollectiveCall call,
                            const c10::OperatorHandle &op, const IValue &first,
                            std::vector<IValue> arguments,
                            torch::jit::Stack &results) const {
  std::string text =
      call.meeting.call + " of " + std::to_string(ranks) + " ranks";
  auto collective = std::make_shared<GraphCollective>(kind, std::move(call), op,
                                                      std::move(arguments));
  // Where no graph has been begun there is none to be a part of.
  if (recordStart(collective, device, text, read)) {
    SyncCause cause(profile::Cause::Collective);
    launchRecorded();
  } else {
    flushWhenIdle();
  }
  auto work =
      c10::make_intrusive<RecordedWork>(collective, written, outputsOf(first));
  for (const c10::Argument &result : op.schema().returns())
    if (result.type()->kind() == c10::TypeKind::ClassType)
      results.push_back(c10::intrusive_ptr<c10d::Work>(work));
    else
      results.push_back(first);
}

} // namespace ltc::backend
