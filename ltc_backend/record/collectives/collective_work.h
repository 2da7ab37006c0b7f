//===- collectives/collective_work.h - A collective under way ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/reads/call_memory.h"
#include "ltc_backend/record/collectives/collective_call.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <mutex>
#include <string>

namespace ltc::backend {

/// The lazy tensors of a collective, and the memory of each that the library
/// reads and writes. Tensors have their new values once somebody
/// has waited, or asked and heard that it is done: as in eager, what they have
/// before says nothing. Any thread.
class CollectiveTensors {
public:
  explicit CollectiveTensors(CollectiveCall call) : call(std::move(call)) {}
  ~CollectiveTensors() { leave(); }

  /// The library's tensor in the place of a lazy one.
  at::Tensor read(const at::Tensor &tensor);
  at::Tensor update(const at::Tensor &tensor);
  at::Tensor fill(const at::Tensor &tensor);
  /// The value with the lazy tensors in the places of the library's.
  c10::IValue toLazy(const c10::IValue &value) const;

  /// The other ranks are waited for from now on.
  void await();
  /// Gives all that was written to its new value, once.
  void complete();
  /// Lets the memory go; values are what was there, or a part of what was to
  /// be, as in eager.
  void drop();

  const CollectiveCall call;

private:
  struct Entry {
    at::Tensor tensor;
    CallMemory memory;
    bool isWritten;
  };
  at::Tensor add(const at::Tensor &tensor, CallMemory memory, bool isWritten);

  void leave();

  std::vector<Entry> entries; ///< complete before the collective starts
  std::mutex mutex;           ///< guards `isDone`, and the owners of memory
  bool isDone = false;
  std::optional<uint64_t> waiting; ///< the call's in its group
};

/// What a program waits for: the work of the library, and then the values.
class CollectiveWork final : public c10d::Work {
public:
  CollectiveWork(c10::intrusive_ptr<c10d::Work> work,
                 std::shared_ptr<CollectiveTensors> tensors);
  ~CollectiveWork() override;

  bool isCompleted() override;
  bool isSuccess() const override { return work->isSuccess(); }
  std::exception_ptr exception() const override { return work->exception(); }
  int sourceRank() const override { return work->sourceRank(); }
  std::vector<at::Tensor> result() override;
  void synchronize() override;
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override { work->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  float getDuration() const override { return work->getDuration(); }
  uint64_t getSequencenumber() const override {
    return work->getSequencenumber();
  }

private:
  const c10::intrusive_ptr<c10d::Work> work;
  const std::shared_ptr<CollectiveTensors> tensors;
  c10::intrusive_ptr<c10::ivalue::Future> future; ///< guarded by mutex_
};

} // namespace ltc::backend
