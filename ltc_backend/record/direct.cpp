//===- record/direct.cpp - Calls met before, without detours --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/new_ops.h"
#include "ltc_backend/record/ops/random.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/writes/step_end.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ltc::backend {
using c10::DispatchKey;

/// Any TorchDispatchMode has the dispatcher include this key.
static bool isSeenByMode() {
  return c10::impl::tls_local_dispatch_key_set().included_.has(
      DispatchKey::Python);
}

bool isUnwatched(const OpInfo &info) {
  return !info.facts.has(OpFact::Factors) && !isSeenByMode() &&
         !adoptNewOps.load(std::memory_order_relaxed);
}

bool isOrdinary(const OpInfo &info) {
  return info.fallbackReason.empty() && !(info.random && isRngEager()) &&
         isUnwatched(info);
}

static bool isReadable(const CallReader &call) {
  return call.allFunctional() && !call.hasHostTensors();
}

namespace {
/// A node for a call that has been met before; none if it has not.
struct Recorded {
  std::shared_ptr<OpNode> node;
  Results results;

  /// With tensors for all but the last `updated` results: tensors that there
  /// are get those.
  explicit Recorded(CallReader &call, size_t updated = 0)
      : device(call.device) {
    endStepBefore();
    SourceId source = currentSource();
    PendingList &list = pendingList(device);
    std::lock_guard lock(list.mutex);
    std::shared_ptr<const CallShape> shape = call.findShape();
    if (!shape || shape->results.empty())
      return;
    node = addNode(call, list, std::move(shape), source);
    addResults(list, node, node->num_outputs() - updated, results);
    full = isFull(list);
  }
  /// When the results are handed out.
  void end() const {
    if (full)
      endFullGraph(device);
  }

private:
  int64_t device;
  bool full = false;
};
} // namespace

at::Tensor wrapResult(const OpInfo &info, const at::Tensor &bare) {
  return info.makesLike ? makeNewWrapper(bare) : makeWrapper(bare);
}

bool recordDirectly(CallReader &call, std::span<at::Tensor> results,
                    c10::ArrayRef<const at::Tensor *> updated) {
  if (!isReadable(call))
    return false;
  Recorded recorded(call, updated.size());
  if (!recorded.node)
    return false;
  const auto &returns = recorded.node->call->returns;
  size_t next = 0;
  for (size_t i = 0; i < results.size(); ++i)
    if (returns[i] == CallShape::kTensor) {
      results[i] = wrapResult(*recorded.node->call->op,
                              finish(std::move(recorded.results[next]),
                                     *recorded.node, next, call.byteOffset));
      ++next;
    }
  auto index = uint32_t(recorded.node->num_outputs());
  for (const at::Tensor *each : updated)
    assign(tensorData(*each), {recorded.node, --index});
  recorded.end();
  return true;
}

bool recordDirectly(CallReader &call, torch::jit::Stack &stack) {
  if (!isReadable(call))
    return false;
  Recorded recorded(call);
  if (!recorded.node)
    return false;
  torch::jit::drop(stack, recorded.node->call->op->arguments.size());
  pushResults(stack, *recorded.node, std::move(recorded.results),
              call.byteOffset);
  recorded.end();
  return true;
}

at::Tensor recordBare(CallReader &call) {
  return isReadable(call) ? recordFactory(call) : at::Tensor();
}

at::Tensor recordFactory(CallReader &call) {
  Recorded recorded(call);
  if (!recorded.node)
    return {};
  at::Tensor result = finish(std::move(recorded.results[0]), *recorded.node, 0,
                             call.byteOffset);
  recorded.end();
  return result;
}

/// Whether the results have the types of the first operands.
static bool keepsTypes(const CallShape &shape, const CallReader &call,
                       size_t count) {
  if (shape.results.size() != count)
    return false;
  for (size_t i = 0; i < count; ++i) {
    const Operand &self = call.operands[i];
    if (shape.results[i].hash != self.ltc().result(self.index).hash)
      return false;
  }
  return true;
}

static bool update(c10::ArrayRef<TensorData *> selves, CallReader &call,
                   bool isOfTheirTypes = false) {
  endStepBefore();
  SourceId source = currentSource();
  PendingList &list = pendingList(call.device);
  // To be destroyed without the lock.
  c10::SmallVector<torch::lazy::Value, 1> old;
  old.reserve(selves.size());
  std::unique_lock lock(list.mutex);
  std::shared_ptr<const CallShape> shape = call.findShape();
  if (!shape || !(isOfTheirTypes || keepsTypes(*shape, call, selves.size())))
    return false;
  auto node = addNode(call, list, std::move(shape), source);
  for (size_t i = 0; i < selves.size(); ++i) {
    if (!selves[i])
      continue;
    exchange(list, *selves[i], old.emplace_back(node, i));
  }
  bool full = isFull(list);
  lock.unlock();
  // A sync would take what is still held here for somebody's.
  node.reset();
  old.clear();
  if (full)
    endFullGraph(call.device);
  return true;
}

/// A view that another thread has taken since the tensor was found to be alone
/// may have got the value of before.
static void noteWritten(const at::Tensor &written) {
  noteWriteOfStep(written);
  if (!isAlone(written)) [[unlikely]]
    noteWrite(written);
}

static bool update(const at::Tensor &self, CallReader &call, bool isOfItsType) {
  TensorData *data = isReadable(call) ? ownData(self) : nullptr;
  if (!data || data->device.ordinal() != call.device ||
      !update({data}, call, isOfItsType))
    return false;
  noteWritten(self);
  return true;
}

bool updateDirectly(const at::Tensor &self, CallReader &call) {
  return update(self, call, /*isOfItsType=*/false);
}

bool replaceDirectly(const at::Tensor &self, CallReader &call) {
  return update(self, call, /*isOfItsType=*/true);
}

bool updateDirectly(c10::ArrayRef<const at::Tensor *> selves,
                    CallReader &call) {
  if (!isReadable(call))
    return false;
  c10::SmallVector<TensorData *, 8> all, sorted;
  for (const at::Tensor *self : selves) {
    all.push_back(self ? ownData(*self) : nullptr);
    if (self)
      sorted.push_back(all.back());
  }
  std::ranges::sort(sorted);
  bool distinct = std::ranges::adjacent_find(sorted) == sorted.end();
  if (!distinct || sorted.empty() || !sorted[0] || !update(all, call))
    return false;
  for (const at::Tensor *self : selves)
    if (self)
      noteWritten(*self);
  return true;
}

bool takeValue(const at::Tensor &self, const at::Tensor &result) {
  TensorData *data = ownData(self);
  if (!data || result.scalar_type() != self.scalar_type())
    return false;
  TensorDataPtr value = tensorData(result);
  if (value->device != data->device)
    return false;
  assign(data->shared_from_this(), operandOf(value));
  noteWritten(self);
  return true;
}

} // namespace ltc::backend
