//===- collectives/collective_work.cpp - A collective under way -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_work.h"

#include "ltc_backend/graph/reads/library_copy.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/writes/write_value.h"
#include "ltc_backend/tensors/map_tensors.h"

namespace ltc::backend {
using at::Tensor;
using c10::ivalue::Future;

/// The device of the library's place on which a lazy tensor is lent to it.
static at::Device placeOf(const CollectiveCall &call, const Tensor &tensor) {
  if (call.place == at::kCPU)
    return at::kCPU;
  if (auto found = libraryDevice(tensor.device().index(), call.place))
    return *found;
  raise({ErrorCode::Unsupported, Stage::Record,
         call.text + ": the group carries tensors of GPUs, and " +
             tensor.device().str() + " is none of PyTorch's",
         call.op, sourceOf(call.meeting.source),
         "init_process_group(\"cpu:gloo,lazy:ltc\") carries them by Gloo; "
         "LTC_DEVICE=cuda makes lazy devices of GPUs"});
}

Tensor CollectiveTensors::add(const Tensor &tensor, CallMemory memory,
                              bool isWritten) {
  entries.push_back({tensor, std::move(memory), isWritten});
  return entries.back().memory.tensor;
}

Tensor CollectiveTensors::read(const Tensor &tensor) {
  return add(tensor, memoryOf(tensor, placeOf(call, tensor)),
             /*isWritten=*/false);
}

Tensor CollectiveTensors::update(const Tensor &tensor) {
  return add(tensor, memoryToWrite(tensor, placeOf(call, tensor)),
             /*isWritten=*/true);
}

Tensor CollectiveTensors::fill(const Tensor &tensor) {
  return add(tensor, freshMemory(tensor, placeOf(call, tensor)),
             /*isWritten=*/true);
}

c10::IValue CollectiveTensors::toLazy(const c10::IValue &value) const {
  return mapNested(value, [&](const Tensor &lent) {
    auto found = std::ranges::find_if(entries, [&](const Entry &entry) {
      return entry.memory.tensor.is_same(lent);
    });
    return found == entries.end() ? lent : found->tensor;
  });
}

void CollectiveTensors::await() {
  if (call.group)
    waiting = call.group->begin(call.meeting);
}

void CollectiveTensors::leave() {
  if (auto ended = std::exchange(waiting, std::nullopt))
    call.group->end(*ended);
}

void CollectiveTensors::complete() {
  std::lock_guard lock(mutex);
  if (std::exchange(isDone, true))
    return;
  leave();
  for (Entry &entry : entries) {
    if (entry.isWritten)
      writeValue(entry.tensor, nextValue(entry.tensor, entry.memory));
    entry.memory.data.reset();
  }
}

void CollectiveTensors::drop() {
  std::lock_guard lock(mutex);
  isDone = true;
  leave();
  for (Entry &entry : entries)
    entry.memory.data.reset();
}

CollectiveWork::CollectiveWork(c10::intrusive_ptr<c10d::Work> work,
                               std::shared_ptr<CollectiveTensors> tensors)
    : Work(-1, work->retrieveOpType()), work(std::move(work)),
      tensors(std::move(tensors)) {}

// Whoever has not waited does not know when the values come, in eager too.
CollectiveWork::~CollectiveWork() {
  if (!future)
    tensors->complete();
}

bool CollectiveWork::isCompleted() {
  if (!work->isCompleted())
    return false;
  if (work->isSuccess())
    tensors->complete();
  return true;
}

std::vector<Tensor> CollectiveWork::result() {
  return tensors->toLazy(work->result()).toTensorVector();
}

void CollectiveWork::synchronize() {
  work->synchronize();
  tensors->complete();
}

bool CollectiveWork::wait(std::chrono::milliseconds timeout) {
  try {
    if (!work->wait(timeout))
      return false;
  } catch (const std::exception &error) {
    tensors->drop();
    raise(tensors->call.failure(error.what()));
  }
  tensors->complete();
  return true;
}

c10::intrusive_ptr<Future> CollectiveWork::getFuture() {
  std::lock_guard lock(mutex_);
  if (future)
    return future;
  c10::intrusive_ptr<Future> done = work->getFuture();
  future = c10::make_intrusive<Future>(done->elementType());
  done->addCallback(
      [future = future, tensors = tensors](Future &done) {
        if (done.hasError()) {
          tensors->drop();
          std::string what = done.tryRetrieveErrorMessage();
          return future->setError(
              std::make_exception_ptr(LtcError(tensors->call.failure(what))));
        }
        tensors->complete();
        future->markCompleted(tensors->toLazy(done.constValue()));
      },
      /*uses_future=*/true);
  return future;
}

} // namespace ltc::backend
