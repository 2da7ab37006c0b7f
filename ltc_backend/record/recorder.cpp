//===- record/recorder.cpp - A torch op call becomes an LTC node ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The key of the arguments finds the CallShape of an earlier equal call, which
// holds everything but the operands.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/recorder.h"

#include "ltc_backend/record/result_shapes.h"

#include "ltc/freelist.h"
#include "ltc/settings.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/lent_generator.h"
#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/checks/number_limits.h"
#include "ltc_backend/record/fallback.h"
#include "ltc_backend/record/new_ops.h"
#include "ltc_backend/record/ops/random.h"
#include "ltc_backend/record/shape_rule.h"
#include "ltc_backend/record/writes/step_end.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/tape.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {

/// A graph that is being built draws its seeds when it runs. Until then they
/// are numbers that differ.
static Operand seedOperand(const std::optional<at::Generator> &generator,
                           int64_t device) {
  static std::atomic<uint64_t> placeholder = 0;
  Operand seed;
  seed.scalarType = DType::I64;
  seed.bits = homeOf(device) == device ? drawSeed(generator) : ++placeholder;
  if (Tape *tape = Tape::current()) [[unlikely]]
    tape->draws.push_back({seed.bits, generator});
  return seed;
}

std::shared_ptr<OpNode> addNode(CallReader &call, PendingList &list,
                                std::shared_ptr<const CallShape> shape,
                                SourceId source) {
  if (shape->op->random)
    call.operands.push_back(seedOperand(call.generator, call.device));
  for (const NumberLimit &limit : shape->limits)
    checkNumber(limit, call.operands[limit.operand]);
  for (const c10::Warning &warning : shape->warnings)
    c10::warn(warning);
  shape->op->countRecorded();
  ++list.recorded;
  auto node = std::allocate_shared<OpNode>(Freelist<OpNode>(), std::move(shape),
                                           std::move(call.operands), source,
                                           call.device);
  list.link(*node);
  if (profile::isOn()) [[unlikely]]
    profile::addRecorded(node->call->op->name, source);
  return node;
}

void addResults(PendingList &list, const std::shared_ptr<OpNode> &node,
                size_t count, Results &results) {
  for (size_t i = 0; i < count; ++i)
    results.push_back(addTensor(list, node, i));
}

at::Tensor finish(at::Tensor result, const OpNode &node, size_t index,
                  int64_t byteOffset) {
  const ResultType &type = node.result(index);
  c10::TensorImpl &impl = *result.unsafeGetTensorImpl();
  setLayout(impl, type.shape.sizes(), type.layout);
  if (byteOffset)
    impl.set_storage_offset(byteOffset / int64_t(impl.itemsize()) +
                            type.layout.offset);
  return result;
}

void pushResults(torch::jit::Stack &stack, const OpNode &node, Results results,
                 int64_t byteOffset) {
  size_t index = 0;
  auto next = [&] {
    size_t i = index++;
    return wrap(finish(std::move(results[i]), node, i, byteOffset));
  };
  for (int kind : node.call->returns) {
    if (kind == CallShape::kUndefined) {
      stack.emplace_back(at::Tensor());
    } else if (kind == CallShape::kTensor) {
      stack.emplace_back(next());
    } else {
      c10::List<at::Tensor> list;
      list.reserve(kind);
      for (int i = 0; i < kind; ++i)
        list.push_back(next());
      stack.emplace_back(std::move(list));
    }
  }
}

/// Of a loop's turns together: enough for a launch to be worth it, few enough
/// for a short compile.
constexpr size_t kMinTurnNodes = 1000;

bool isFull(const PendingList &list) {
  if (list.turn.call && list.nodes >= kMinTurnNodes) [[unlikely]] {
    const OpNode &last = *list.lastNode;
    if (last.call == list.turn.call && last.source == list.turn.line)
      return true;
  }
  const Settings &now = settings();
  return list.nodes > size_t(now.max_pending_ops) || now.sync;
}

void endFullGraph(int64_t device) {
  if (homeOf(device) != device)
    return; // its builder ends it
  const bool sync = settings().sync;
  SyncCause cause(sync ? profile::Cause::EachOp : profile::Cause::Cap);
  if (sync)
    return syncAll(device, /*wait=*/true);
  PendingList &list = pendingList(device);
  PendingList::Turn turn;
  {
    std::lock_guard lock(list.mutex);
    if (const OpNode *last = list.lastNode)
      turn = {last->call, last->source};
  }
  syncAll(device, /*wait=*/false);
  std::lock_guard lock(list.mutex);
  std::swap(list.turn, turn);
}

/// Raises what the graph of this value alone raised; what was recorded before
/// has run in another, so that a program may catch it and go on.
static void raiseNow(const TensorData &result) {
  sync(deviceOf(result), /*wait=*/false);
  waitForResult(deviceOf(result), *deviceData(result)->buffer());
}

static std::shared_ptr<const CallShape> callByValues(const OpInfo &info,
                                                     std::string reason) {
  auto call = std::make_shared<CallShape>();
  call->op = &info;
  call->fallback = std::move(reason);
  return call;
}

void record(const OpInfo &info, torch::jit::Stack &stack) {
  if (auto *adopt = adoptNewOps.load(std::memory_order_relaxed)) [[unlikely]]
    adopt();
  if (!info.fallbackReason.empty())
    return runFallback(info, stack, info.fallbackReason);
  endStepBefore();
  auto arguments = torch::jit::last(stack, info.arguments.size());
  CallReader call(info, arguments);
  call.checkDevices();
  call.uploadHostTensors();
  SourceId source = currentSource();
  const bool now = info.facts.has(OpFact::Factors) &&
                   settings().linalg_errors == "now" && !settings().dry_run;
  std::optional<SyncCause> cause;
  if (now)
    cause.emplace(profile::Cause::LinalgCheck, info.name);
  if (now)
    sync(call.device, /*wait=*/false);
  PendingList &list = pendingList(call.device);
  std::unique_lock lock(list.mutex);
  Hash128 key = call.readValues();
  std::shared_ptr<const CallShape> shape = info.findCall(key);
  if (info.random && !(shape && havePassed(info, key, call.operands))) {
    lock.unlock();
    checkNumbers(info, arguments, key, call.operands);
    lock.lock();
  }
  if (!shape) {
    lock.unlock();
    if (info.isForcedToHost())
      return runFallback(info, stack, "is in LTC_FORCE_FALLBACK");
    std::string reason;
    shape = inferCall(info, arguments, reason);
    if (!shape && reason == kShapeByValues)
      shape = callByValues(info, reason);
    if (!shape)
      return runFallback(info, stack, reason);
    info.rememberCall(key, shape);
    lock.lock();
  }
  if (!shape->fallback.empty()) {
    lock.unlock();
    return runFallback(info, stack, shape->fallback);
  }
  std::shared_ptr<OpNode> node = addNode(call, list, std::move(shape), source);
  Results results;
  addResults(list, node, node->num_outputs(), results);
  bool full = isFull(list);
  lock.unlock();
  if (now)
    raiseNow(*tensorData(results[0]));

  torch::jit::drop(stack, info.arguments.size());
  pushResults(stack, *node, std::move(results), call.byteOffset);
  if (full)
    endFullGraph(call.device);
}

at::Tensor recordOne(const OpInfo &info, torch::jit::Stack stack) {
  c10::impl::ExcludeDispatchKeyGuard bare(c10::DispatchKey::Functionalize);
  record(info, stack);
  return stack.at(0).toTensor();
}

} // namespace ltc::backend
