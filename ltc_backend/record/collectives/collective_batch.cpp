//===- collectives/collective_batch.cpp - Several calls as one ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_batch.h"

#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/library.h"
#include "ltc_backend/record/collectives/collective_chain.h"
#include "ltc_backend/record/collectives/collective_place.h"

#include <algorithm>

namespace ltc::backend {
using c10d::ProcessGroup;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

namespace {
struct Batch {
  BackendPtr library;
  std::vector<CallAtOnce> calls;
};
} // namespace

static thread_local std::vector<Batch> begun;

static auto batchOf(ProcessGroup &group) {
  return std::ranges::find(begun, group.getBackend(at::kLazy), &Batch::library);
}

bool startBatch(ProcessGroup &group) {
  BackendPtr library = group.getBackend(at::kLazy);
  if (placeOf(group) == at::kCPU || !library->supportsCoalescing())
    return false;
  // One that an error has kept from its end is forgotten.
  std::erase_if(begun,
                [&](const Batch &batch) { return batch.library == library; });
  begun.push_back({library, {}});
  return true;
}

bool addToBatch(CallAtOnce &given, torch::jit::Stack &results) {
  if (begun.empty())
    return false;
  auto group = std::ranges::find_if(given.arguments, isGroup);
  auto batch = group == given.arguments.end()
                   ? begun.end()
                   : batchOf(*group->toCustomClass<ProcessGroup>());
  if (batch == begun.end())
    return false;
  for (const c10::Argument &result : given.op.schema().returns())
    if (result.type()->kind() == c10::TypeKind::ClassType)
      results.push_back(WorkPtr());
    else
      results.push_back(given.arguments[0]);
  batch->calls.push_back(std::move(given));
  return true;
}

/// "send(f32[4]) on rank 0 of 2, with 3 other calls"
static CollectiveCall nameOf(const Batch &batch) {
  CollectiveCall named = batch.calls.front().call;
  if (size_t others = batch.calls.size() - 1)
    named.text += ", with " + std::to_string(others) + " other call" +
                  (others > 1 ? "s" : "");
  return named;
}

/// The library's one Work for all calls. What it has begun it is to end also if
/// it refuses one.
static WorkPtr callAsOne(const Batch &batch,
                         std::vector<torch::jit::Stack> &lent) {
  batch.library->startCoalescing();
  try {
    for (size_t i = 0; i < lent.size(); ++i)
      begin(batch.calls[i].op, lent[i], batch.calls[i].call);
  } catch (...) {
    batch.library->endCoalescing();
    throw;
  }
  return batch.library->endCoalescing();
}

WorkPtr endBatch(ProcessGroup &group) {
  auto found = batchOf(group);
  if (found == begun.end())
    return {};
  Batch batch = std::move(*found);
  begun.erase(found);
  if (batch.calls.empty())
    return {};
  SyncCause cause(profile::Cause::Collective, batch.calls.front().kind.name);
  settleRecorded();
  auto tensors = std::make_shared<CollectiveTensors>(nameOf(batch));
  computeRead(batch.calls);
  std::vector<torch::jit::Stack> lent;
  for (const CallAtOnce &given : batch.calls)
    lent.push_back(lendTo(*tensors, given));
  WorkPtr work = callAsOne(batch, lent);
  tensors->await();
  return c10::make_intrusive<CollectiveWork>(std::move(work), tensors);
}

static void startBatchOp(const c10::OperatorHandle &,
                         torch::jit::Stack *stack) {
  auto group = torch::jit::pop(*stack).toCustomClass<ProcessGroup>();
  stack->emplace_back(startBatch(*group));
}

static void endBatchOp(const c10::OperatorHandle &, torch::jit::Stack *stack) {
  auto group = torch::jit::pop(*stack).toCustomClass<ProcessGroup>();
  stack->emplace_back(endBatch(*group));
}

void registerBatches() {
  auto group = c10::getCustomClassType<c10::intrusive_ptr<ProcessGroup>>();
  const auto &work = c10::getCustomClassType<WorkPtr>();
  auto define = [&](const char *name, const c10::TypePtr &result, auto kernel) {
    ownLibrary().def(c10::FunctionSchema(std::string("torch_ltc::") + name, "",
                                         {{"group", group}},
                                         {c10::Argument("", result)}));
    ownLibrary().impl(name, std::move(kernel));
  };
  define("start_batch", c10::BoolType::get(),
         torch::CppFunction::makeFromBoxedFunction<startBatchOp>());
  define("end_batch", work,
         torch::CppFunction::makeFromBoxedFunction<endBatchOp>());
}

} // namespace ltc::backend
