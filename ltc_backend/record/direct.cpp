//===- record/direct.cpp - Calls met before, without detours --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct.h"

#include "ltc_backend/backend.h"
#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/custom_op.h"
#include "ltc_backend/record/keep_layout.h"
#include "ltc_backend/record/recorder.h"

#include <ATen/FunctionalTensorWrapper.h>

namespace ltc::backend {
using c10::DispatchKey;
using c10::IValue;

/// Ops that record() does more for than to add a node.
static bool isOrdinary(const OpInfo &info) {
  return info.fallbackReason.empty() && !info.random &&
         !customOpsWait.load(std::memory_order_relaxed);
}

static bool isReadable(const CallReader &call) {
  return call.allFunctional() && !call.hasHostTensors();
}

bool recordDirectly(const OpInfo &info, torch::jit::Stack &stack) {
  if (!isOrdinary(info))
    return false;
  CallReader call(info, torch::jit::last(stack, info.arguments.size()));
  if (!isReadable(call))
    return false;
  SourceId source = currentSource();
  PendingList &list = pendingList(call.device);
  std::unique_lock lock(list.mutex);
  std::shared_ptr<const CallShape> shape = info.findCall(call.readValues());
  if (!shape)
    return false;
  std::shared_ptr<OpNode> node = addNode(call, list, std::move(shape), source);
  Results results = addResults(list, node);
  bool full = isFull(list);
  lock.unlock();

  torch::jit::drop(stack, info.arguments.size());
  pushResults(stack, *node, std::move(results), call.offset);
  if (full)
    markStep(call.device, /*wait=*/false);
  return true;
}

/// The data of a tensor that is no view, has none, and is no copy of another.
static TensorData *ownData(const at::Tensor &tensor) {
  auto *wrapper =
      at::functionalization::impl::unsafeGetFunctionalWrapper(tensor);
  torch::lazy::LTCTensorImpl *impl = lazyImpl(tensor);
  if (!impl || !wrapper->isBaseTensor() ||
      wrapper->unsafe_storage().use_count() != 1 ||
      !storageOf(tensor).base().is_same(wrapper->value()))
    return nullptr;
  auto &data = static_cast<TensorData &>(*impl->tensor()->data());
  return data.isShared ? nullptr : &data;
}

bool updateDirectly(const OpInfo &twin, torch::jit::Stack &stack) {
  if (!isOrdinary(twin))
    return false;
  auto arguments = torch::jit::last(stack, twin.arguments.size());
  constexpr c10::DispatchKeySet ours{DispatchKey::Functionalize,
                                     DispatchKey::Lazy};
  if (!arguments[0].toTensor().key_set().has_all(ours))
    return false;
  CallReader call(twin, arguments);
  if (!isReadable(call))
    return false;
  TensorData *self = ownData(arguments[0].toTensor());
  if (!self)
    return false;
  SourceId source = currentSource();
  PendingList &list = pendingList(call.device);
  torch::lazy::Value old;
  std::unique_lock lock(list.mutex);
  std::shared_ptr<const CallShape> shape = twin.findCall(call.readValues());
  const Operand &before = call.operands[0];
  if (!shape || shape->results.size() != 1 || shape->returns.size() != 1 ||
      shape->returns[0] != CallShape::kTensor ||
      shape->results[0].hash != before.ltc().result(before.index).hash)
    return false;
  std::swap(old, self->ir_value);
  self->ir_value =
      torch::lazy::Value(addNode(call, list, std::move(shape), source), 0);
  self->handle = nullptr;
  list.link(*self);
  ++self->generation;
  bool full = isFull(list);
  lock.unlock();

  torch::jit::drop(stack, twin.arguments.size() - 1);
  if (full)
    markStep(call.device, /*wait=*/false);
  return true;
}

DirectKernel::DirectKernel(const OpInfo &info)
    : info(info), stock(info.handle.getComputedKernelForDispatchKey(
                      DispatchKey::Functionalize)) {}

void DirectKernel::operator()(const c10::OperatorHandle &op,
                              c10::DispatchKeySet keys,
                              torch::jit::Stack *stack) {
  if (!keys.has(DispatchKey::Lazy) || !recordDirectly(info, *stack))
    stock.callBoxed(op, keys, stack);
}

} // namespace ltc::backend
