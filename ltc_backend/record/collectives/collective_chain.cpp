//===- collectives/collective_chain.cpp - The order of collectives --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===
#include "ltc_backend/record/collectives/collective_chain.h"

#include "ltc/log.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/writes/write_value.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

namespace {
struct Chain {
  std::mutex mutex; ///< guards the rest; nothing is recorded with it
  int64_t device = -1;
  Tensor last; ///< bare: what the last that begins gives
  int64_t number = 0;
};
} // namespace

static Chain &chain() {
  static auto *only = new Chain; // its tensor outlives the device
  return *only;
}

/// Whether some may not have begun.
static std::atomic<bool> isOpen = false;

static Tensor lastOf(Chain &all) {
  std::lock_guard lock(all.mutex);
  return all.last;
}

static bool hasFailed(const Tensor &token) {
  std::shared_ptr<DeviceData> data = deviceData(*tensorData(token));
  return data && data->buffer()->failure();
}

/// What the next one is to begin behind: its number, and the tensor that says
/// so. A new chain begins behind what failed.
static std::pair<int64_t, Tensor> endOfChain(int64_t device) {
  Chain &all = chain();
  bool isOther;
  {
    std::lock_guard lock(all.mutex);
    isOther = all.last.defined() && all.device != device;
    if (all.last.defined() && !isOther && !hasFailed(all.last))
      return {all.number, all.last};
  }
  if (isOther)
    settleRecorded();
  Tensor first = at::scalar_tensor(firstInChain(), at::kLong);
  return {firstInChain(), makeTensor(upload(first, device), device)};
}

/// Computed even if nobody reads it: other ranks take part. Returns whether
/// all else that is recorded there waits for collectives.
static bool computeAlways(const Tensor &value) {
  TensorDataPtr data = tensorData(value);
  PendingList &list = pendingList(deviceOf(*data));
  std::lock_guard lock(list.mutex);
  // Without a node, a sync has run it already.
  if (data->ir_value.node &&
      !static_cast<const LtcNode &>(*data->ir_value.node).isData)
    list.checks.push_back(
        std::static_pointer_cast<OpNode>(data->ir_value.node));
  for (OpNode *node = list.lastNode; node; node = node->previous)
    if (node != data->ir_value.node.get() &&
        !node->call->op->facts.has(OpFact::Awaits))
      return false;
  return true;
}

bool recordStart(const GraphCollectivePtr &collective, int64_t device,
                 const std::string &key, c10::ArrayRef<Tensor> read) {
  static const OpInfo &op = opInfo("torch_ltc::collective_start", "");
  auto [number, after] = endOfChain(device);
  collective->after = number;
  keep(collective);
  isOpen = true;
  Tensor token = recordOne(op, {after, c10::List<Tensor>(read),
                                at::Scalar(collective->number), key});
  bool isAlone = computeAlways(token);
  Chain &all = chain();
  std::lock_guard lock(all.mutex);
  all.device = device;
  all.number = collective->number;
  std::swap(all.last, token);
  return isAlone;
}

void recordFetch(GraphCollective &collective, int64_t index,
                 const Tensor &tensor) {
  static const OpInfo &op = opInfo("torch_ltc::collective_wait", "");
  Tensor last = lastOf(chain());
  Tensor value = recordOne(op, {last, at::Scalar(collective.number), index,
                                tensor.sizes().vec(),
                                static_cast<int64_t>(tensor.scalar_type())});
  collective.addFetch(tensorData(value)->ir_value.node);
  writeValue(tensor, value);
}

/// What the last one gives, if that is still recorded; else null.
static TensorDataPtr lastRecorded() {
  Tensor last = lastOf(chain());
  TensorDataPtr data = last.defined() ? tensorData(last) : nullptr;
  return data && !deviceData(*data) ? data : nullptr;
}

void launchRecorded(bool raises) {
  if (TensorDataPtr data = lastRecorded())
    syncOnly(deviceOf(*data), data, raises);
}

std::optional<int64_t> recordedAround() {
  TensorDataPtr data = lastRecorded();
  if (!data)
    return std::nullopt;
  PendingList &list = pendingList(deviceOf(*data));
  std::lock_guard lock(list.mutex);
  return list.recorded;
}

void settleRecorded() {
  if (!isOpen)
    return;
  SyncCause cause(profile::Cause::Collective, "what is recorded begins");
  if (TensorDataPtr data = lastRecorded())
    sync(deviceOf(*data), /*wait=*/false, data);
  Tensor last = lastOf(chain());
  if (auto data = last.defined() ? deviceData(*tensorData(last)) : nullptr) {
    Waiting waiting;
    waitUninterrupted(*data->buffer());
  }
  std::lock_guard lock(chain().mutex);
  if (chain().last.is_same(last))
    isOpen = false;
}

void finishRecorded() {
  try {
    settleRecorded();
  } catch (const std::exception &error) {
    log(LogLevel::Warn, Stage::Execute,
        std::string("at exit, a collective could not begin: ") + error.what());
  }
  awaitAllBegun();
}

} // namespace ltc::backend
