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

#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/checks/linalg_check.h"
#include "ltc_backend/record/checks/number_limits.h"
#include "ltc_backend/record/ops/custom_op.h"
#include "ltc_backend/record/recycled.h"

namespace ltc::backend {
using c10::IValue;

static Operand seedOperand(const std::optional<at::Generator> &generator) {
  Operand seed;
  seed.scalarType = DType::I64;
  seed.bits = drawSeed(generator);
  return seed;
}

std::shared_ptr<OpNode> addNode(CallReader &call, PendingList &list,
                                std::shared_ptr<const CallShape> shape,
                                SourceId source) {
  if (shape->op->random)
    call.operands.push_back(seedOperand(call.generator));
  for (const NumberLimit &limit : shape->limits)
    checkNumber(limit, call.operands[limit.operand]);
  for (const c10::Warning &warning : shape->warnings)
    c10::warn(warning);
  static Counter &recorded = counter("record.ops");
  recorded.add();
  auto node = std::allocate_shared<OpNode>(Recycled<OpNode>(), std::move(shape),
                                           std::move(call.operands), source,
                                           call.device);
  list.link(*node);
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

bool isFull(const PendingList &list) {
  return list.nodes > size_t(settings().max_pending_ops);
}

void endFullGraph(int64_t device) {
  SyncCause cause(profile::Cause::Cap);
  syncAll(device, /*wait=*/false);
}

/// Raises what the graph of this value alone raised; what was recorded before
/// has run in another, so that a program may catch it and go on.
static void raiseNow(const TensorData &result) {
  sync(deviceOf(result), /*wait=*/false);
  waitForResult(deviceOf(result), *deviceData(result)->buffer);
}

void record(const OpInfo &info, torch::jit::Stack &stack) {
  if (customOpsWait.load(std::memory_order_relaxed)) [[unlikely]]
    adoptCustomOps();
  if (!info.fallbackReason.empty())
    return runFallback(info, stack, info.fallbackReason);
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (info.random && drawEagerly(info, stack))
    return;
  if (checksErrors(info, arguments))
    return recordChecked(info, stack);

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
    std::string reason;
    shape = inferCall(info, arguments, reason);
    if (!shape)
      return runFallback(info, stack, reason);
    info.rememberCall(key, shape);
    lock.lock();
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
